import { describePath } from "./describePath";

export interface Change {
  op: string;
  path: string;
  before?: unknown;
  after?: unknown;
}

interface DifferencesProps {
  changes: readonly Change[];
  /** The words above the two sides. */
  names?: readonly [string, string];
}

/** Changes side by side: the value before, and the value after. */
export function Differences({ changes, names = ["Before", "After"] }: DifferencesProps) {
  if (changes.length === 0) return <p className="muted">Nothing differs.</p>;
  return (
    <div className="card flush" tabIndex={0} role="group" aria-label="List of differences">
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">{names[0]}</th>
            <th scope="col">{names[1]}</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ op, path, before, after }) => (
            <tr key={path}>
              <td title={path}>{describePath(path)}</td>
              <td className={op === "ADD" ? "" : "was"}>
                {op === "ADD" ? <span className="muted">–</span> : <Shown value={before} />}
              </td>
              <td className={op === "REMOVE" ? "" : "is"}>
                {op === "REMOVE" ? <span className="muted">–</span> : <Shown value={after} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Shown({ value }: { value: unknown }) {
  return <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 1)}</pre>;
}
