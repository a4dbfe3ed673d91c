interface Change {
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

const PLURALS = /^(parameter|transform|output|formula|input)s$/;

/**
 * What a path of a change names, in words: `/transformer/transforms/0/formula` is that of transform 1. Those
 * of drafts have points, and count from 1.
 */
export function describePath(path: string): string {
  const [separator, first] = path.startsWith("/") ? ["/", 1] : [".", 0];
  const parts = path.split(separator).filter((part) => part !== "" && part !== "transformer");
  const words: string[] = [];
  for (const [place, part] of parts.entries()) {
    if (/^\d+$/.test(part) && place > 0) {
      const list = words.pop() ?? "";
      words.push(`${list.replace(PLURALS, "$1")} ${Number(part) + first}`);
    } else words.push(formatCamel(part));
  }
  // A transform has one output.
  return words.join(", ").replace(/(transform \d+), output 1/, "$1, output");
}

function formatCamel(name: string): string {
  return name
    .replaceAll("~1", "/")
    .replace(/[a-z](?=[A-Z])/g, "$& ")
    .toLowerCase();
}

function Shown({ value }: { value: unknown }) {
  return <pre>{typeof value === "string" ? value : JSON.stringify(value, null, 1)}</pre>;
}
