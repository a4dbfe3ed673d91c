import { formatTimestamp } from "./format";
import { ExplanationTree, type Part } from "./ExplanationTree";

interface Explanation {
  row: number;
  input: unknown;
  outputs: readonly {
    key: string;
    explanation: { value: { text?: string | null }; parts: readonly Part[] };
  }[];
}

interface ExplainedRowProps {
  explanation: Explanation;
  /** The words for outputs, by their keys. */
  names?: ReadonlyMap<string, string>;
  /** The keys of outputs that are timestamps. */
  times: ReadonlySet<string>;
}

/** How an output row comes about: its input row, and each formula step by step. */
export function ExplainedRow({ explanation, names, times }: ExplainedRowProps) {
  const { row, input, outputs } = explanation;
  return (
    <>
      <h3>From row {row} of the input</h3>
      <dl className="facts">
        {Object.entries(input as Record<string, unknown>).map(([key, value]) => (
          <div key={key}>
            <dt>{key}</dt>
            <dd>{String(value)}</dd>
          </div>
        ))}
      </dl>
      {outputs.map(({ key, explanation: { value, parts } }) => (
        <section key={key} className="stack tight" aria-label={`How ${key} comes about`}>
          <h4>
            <bdi>{names?.get(key) ?? key}</bdi> = <bdi>{value.text ?? "null"}</bdi>
            {times.has(key) ? <TimeOf value={value.text} /> : null}
          </h4>
          <ExplanationTree parts={parts} />
        </section>
      ))}
    </>
  );
}

function TimeOf({ value }: { value: string | null | undefined }) {
  const time = formatTimestamp(value);
  return time ? <span className="muted">, {time} UTC</span> : null;
}
