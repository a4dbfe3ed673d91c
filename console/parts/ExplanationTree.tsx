interface Value {
  type: string;
  text?: string | null;
}

export interface Part {
  depth: number;
  parent?: number | null;
  called: boolean;
  text: string;
  evaluated: boolean;
  value?: Value | null;
}

/** How a value comes about: each part of the formula below the part that uses it. */
export function ExplanationTree({ parts }: { parts: readonly Part[] }) {
  return (
    <div role="group" aria-label="How it comes about">
      <Level parts={parts} parent={null} />
    </div>
  );
}

function Level({ parts, parent }: { parts: readonly Part[]; parent: number | null }) {
  const here = parts
    .map((part, index) => ({ part, index }))
    .filter(({ part }) => (part.parent ?? null) === parent);
  if (here.length === 0) return null;
  return (
    <ul className="tree">
      {here.map(({ part, index }) => {
        const isLeaf = !parts.some((other) => other.parent === index);
        return (
          <li key={index}>
            {isLeaf ? (
              <Line part={part} />
            ) : (
              <details open={part.depth < 2}>
                <summary>
                  <Line part={part} />
                </summary>
                <Level parts={parts} parent={index} />
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Line({ part }: { part: Part }) {
  return (
    <span>
      <code>{part.text}</code>{" "}
      {part.evaluated ? (
        <>
          = <strong>{part.value?.text ?? "null"}</strong>
        </>
      ) : (
        <span className="muted">not needed</span>
      )}
    </span>
  );
}
