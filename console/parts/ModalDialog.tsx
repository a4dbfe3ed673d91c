import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface ModalDialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog over the page, which begins at its first field; Escape closes it. */
export function ModalDialog({ title, onClose, children }: ModalDialogProps) {
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
    <dialog ref={dialog} aria-labelledby={id} onCancel={onClose}>
      <div className="stack">
        <div className="row middle">
          <h2 id={id} className="grow" tabIndex={-1}>
            {title}
          </h2>
          <button type="button" className="button quiet icon" aria-label="Close" onClick={onClose}>
            <X size={18} aria-hidden />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
