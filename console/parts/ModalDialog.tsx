import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

interface ModalDialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
}

/** A dialog over the page; Escape closes it. */
export function ModalDialog({ title, onClose, children }: ModalDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={onClose}>
      <div className="stack">
        <div className="row middle">
          <h2 id={id} className="grow">
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
