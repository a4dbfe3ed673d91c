import { FileUp } from "lucide-react";
import { type DragEvent, useState } from "react";

interface DropPlaceProps {
  /** What the file is for, in words for the ear. */
  label: string;
  /** Which files it takes. */
  words: string;
  accept: string;
  onFile: (file: File) => void;
}

/** A place that takes a file by a drop or by a choice. */
export function DropPlace({ label, words, accept, onFile }: DropPlaceProps) {
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) onFile(file);
  };
  return (
    <div
      className={`drop ${isOver ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <FileUp size={28} aria-hidden />
      <p>{words}</p>
      <label className="field">
        <span className="visually-hidden">{label}</span>
        <input
          type="file"
          accept={accept}
          // The same file, mended meanwhile, is a choice too.
          onClick={(event) => (event.currentTarget.value = "")}
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file) onFile(file);
          }}
        />
      </label>
    </div>
  );
}
