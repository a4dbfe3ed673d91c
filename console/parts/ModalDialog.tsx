import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface ModalDialogProps {
  title: string;
  onClose: () => void;
  /** Whether neither Escape nor a cross closes it: what it shows would be lost. */
  isHeld?: boolean;
  children: ReactNode;
}

/** A dialog over the page, which begins at its first field; Escape closes it unless it is held. */
export function ModalDialog({ title, onClose, isHeld = false, children }: ModalDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // While it still stands in the page: only then does a closed dialog give the focus back.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    const first = shown?.querySelector<HTMLElement>("input, select, textarea");
    (first ?? shown?.querySelector("h2"))?.focus();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      // A browser asks once before it closes a dialog, and not again.
      onKeyDown={(event) => {
        if (isHeld && event.key === "Escape") event.preventDefault();
      }}
      onCancel={(event) => {
        if (isHeld) event.preventDefault();
        else onClose();
      }}
    >
      <div className="stack">
        <div className="row middle">
          <h2 id={id} className="grow" tabIndex={-1}>
            {title}
          </h2>
          {isHeld ? null : (
            <button
              type="button"
              className="button quiet icon"
              aria-label="Close"
              onClick={onClose}
            >
              <X size={18} aria-hidden />
            </button>
          )}
        </div>
        {children}
      </div>
    </dialog>
  );
}
