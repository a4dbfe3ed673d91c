import { formatBytes } from "./format";

interface UploadProgressProps {
  /** Bytes that are sent, of so many. */
  sent: number;
  size: number;
  onCancel: () => void;
}

/** How much of a file is sent, and the way to end it. */
export function UploadProgress({ sent, size, onCancel }: UploadProgressProps) {
  return (
    <div className="row middle" role="status">
      <progress className="grow" aria-label="Upload" max={size} value={sent || undefined} />
      <span>
        {formatBytes(sent)} of {formatBytes(size)}
      </span>
      <button type="button" className="button danger" onClick={onCancel}>
        Cancel
      </button>
    </div>
  );
}
