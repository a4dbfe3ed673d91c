import { Fragment } from "react";
import { usePages } from "../../app/queries";
import { KeptRows } from "../../graphql/generated/rows";
import { useAddress } from "../../parts/address";
import { Digits } from "../../parts/marks";
import { Answered, Empty, More } from "../../parts/state";
import { RowDetails, type ShownRow } from "./RowDetails";
import { textOf, type RowOutput } from "./rowOutputs";
import type { RowFilter } from "./Totals";

interface RowTableProps {
  id: string;
  filter: RowFilter;
  outputs: readonly RowOutput[];
  keys: readonly string[];
}

/** The rows that stand; each opens to its explanation and its history. */
export function RowTable({ id, filter, outputs, keys }: RowTableProps) {
  const query = usePages(KeptRows, { id, ...filter }, ({ pipeline }) => pipeline?.rows);
  const { search, change } = useAddress();
  const open = search.get("row");
  const setOpen = (row: string | null) => change({ row });
  return (
    <section className="stack tight">
      <h2>Rows</h2>
      <Answered query={query} what="the rows">
        {() =>
          query.nodes && query.nodes.length > 0 ? (
            <>
              <div
                className="card flush scroller whole"
                tabIndex={0}
                role="region"
                aria-label="Rows"
              >
                <table className="one-line">
                  <thead>
                    <tr>
                      {outputs.map(({ key, label, type }) => (
                        <th key={key} scope="col" className={type === "NUMBER" ? "number" : ""}>
                          <span className="clipped" title={label}>
                            {label}
                          </span>
                        </th>
                      ))}
                      <th scope="col">
                        <span className="visually-hidden">Details</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {query.nodes.map((row) => (
                      <Fragment key={row.id}>
                        <tr>
                          {outputs.map((output) => (
                            <td
                              key={output.key}
                              className={output.type === "NUMBER" ? "number" : ""}
                            >
                              {output.type === "NUMBER" ? (
                                <Digits value={textOf(row.values, output)} />
                              ) : (
                                textOf(row.values, output)
                              )}
                            </td>
                          ))}
                          <td>
                            <button
                              type="button"
                              className="button quiet"
                              aria-expanded={open === row.id}
                              aria-label={`Why ${nameOf(row, keys, outputs)}`}
                              onClick={() => setOpen(open === row.id ? null : row.id)}
                            >
                              Why
                            </button>
                          </td>
                        </tr>
                        {open === row.id ? (
                          <tr>
                            <td colSpan={outputs.length + 1}>
                              <RowDetails
                                pipeline={id}
                                row={row}
                                outputs={outputs}
                                onWithdrawn={() => setOpen(null)}
                              />
                            </td>
                          </tr>
                        ) : null}
                      </Fragment>
                    ))}
                  </tbody>
                </table>
              </div>
              <p>
                <More pages={query} what="rows" />
              </p>
            </>
          ) : (
            <Empty title="No rows" />
          )
        }
      </Answered>
    </section>
  );
}

function nameOf(
  { values }: ShownRow,
  keys: readonly string[],
  outputs: readonly RowOutput[],
): string {
  const named = outputs.filter(({ key }) => keys.includes(key));
  return named.map((output) => textOf(values, output)).join(", ");
}
