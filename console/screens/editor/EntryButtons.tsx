import { Plus, Trash2 } from "lucide-react";
import type { ReactNode } from "react";

/** The button that adds an entry to a list; it has the focus when an entry is gone. */
export function AddButton({ onAdd, children }: { onAdd: () => void; children: ReactNode }) {
  return (
    <button type="button" className="button" data-add onClick={onAdd}>
      <Plus size={16} aria-hidden /> {children}
    </button>
  );
}

/** The button that takes an entry out of its list. */
export function RemoveButton({ what, onRemove }: { what: string; onRemove: () => void }) {
  return (
    <button
      type="button"
      className="button quiet icon"
      aria-label={`Remove ${what}`}
      onClick={onRemove}
    >
      <Trash2 size={16} aria-hidden />
    </button>
  );
}
