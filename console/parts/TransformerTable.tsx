import type { TransformerFactsFragment } from "../graphql/generated/types";
import { useAddress } from "./address";
import { Formula } from "./Formula";
import { formatName } from "./format";

/** Bring the transform that the address names into view. */
function showNamed(row: HTMLElement | null) {
  row?.scrollIntoView({ block: "center" });
}

/** The parameters of a pipeline and its transforms, each with its formula. */
export function TransformerTable({
  transformer,
  group,
}: {
  transformer: TransformerFactsFragment;
  group: string;
}) {
  const { search } = useAddress();
  const named = search.get("transform");
  return (
    <>
      <section className="stack tight" aria-label="Parameters">
        <h2>Parameters</h2>
        <div className="card flush" tabIndex={0} role="group" aria-label="List of parameters">
          <table>
            <thead>
              <tr>
                <th scope="col">Key</th>
                <th scope="col">Label</th>
                <th scope="col">Type</th>
              </tr>
            </thead>
            <tbody>
              {transformer.parameters.map(({ key, label, type, required, description }) => (
                <tr key={key}>
                  <td>
                    <code>
                      :<bdi>{key}</bdi>
                    </code>
                  </td>
                  <td>
                    {label} {description ? <p className="small muted">{description}</p> : null}
                  </td>
                  <td>
                    {formatName(type)}
                    {required ? ", required" : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <section className="stack tight" aria-label="Transforms">
        <h2>Transforms</h2>
        <div className="card flush" tabIndex={0} role="group" aria-label="List of transforms">
          <table>
            <thead>
              <tr>
                <th scope="col">Output</th>
                <th scope="col">Formula</th>
              </tr>
            </thead>
            <tbody>
              {transformer.transforms.map(({ index, formula, outputs }) => (
                <tr
                  key={index}
                  ref={String(index) === named ? showNamed : null}
                  className={String(index) === named ? "chosen" : ""}
                >
                  <td>
                    {outputs.map((output) => (
                      <p key={output.index}>
                        <strong>{output.key ?? output.label ?? `output ${index}`}</strong>{" "}
                        <span className="small muted">
                          {formatName(output.type)}
                          {output.type === "TIMESTAMP" &&
                          transformer.timestamps === "EPOCH_MILLISECONDS"
                            ? ", as milliseconds since 1970"
                            : ""}
                        </span>
                      </p>
                    ))}
                  </td>
                  <td>
                    <Formula formula={formula} group={group} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      {transformer.rows ? <KeptRows keeping={transformer.rows} /> : null}
    </>
  );
}

/** Which outputs identify the rows that a pipeline keeps, and how long they stay. */
function KeptRows({ keeping }: { keeping: NonNullable<TransformerFactsFragment["rows"]> }) {
  const facts: [string, string | null | undefined][] = [
    ["A row is known by", keeping.key.join(", ")],
    ["Its time", keeping.time],
    ["Its group", keeping.group],
    ["It stays", keeping.keepDays == null ? "for ever" : `${keeping.keepDays} days`],
  ];
  return (
    <section className="card stack tight" aria-label="Kept rows">
      <h2>Kept rows</h2>
      <dl className="facts">
        {facts.map(([name, value]) =>
          value ? (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ) : null,
        )}
      </dl>
    </section>
  );
}
