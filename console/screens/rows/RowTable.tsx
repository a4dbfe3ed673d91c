import { Fragment, useState } from "react";
import { usePages } from "../../app/queries";
import { KeptRows } from "../../graphql/generated/rows";
import type { KeptRowsQuery } from "../../graphql/generated/types";
import { formatNumber, formatUtc } from "../../parts/format";
import { Answered, Empty } from "../../parts/state";
import { RowDetails } from "./RowDetails";
import type { RowOutput } from "./Rows";
import type { RowFilter } from "./Totals";

export type ShownRow = NonNullable<KeptRowsQuery["pipeline"]>["rows"]["nodes"][number];

interface RowTableProps {
  id: string;
  filter: RowFilter;
  outputs: readonly RowOutput[];
  keys: readonly string[];
}

/** The rows that stand; each opens to its explanation and its history. */
export function RowTable({ id, filter, outputs, keys }: RowTableProps) {
  const query = usePages(KeptRows, { id, ...filter, where: [] }, ({ pipeline }) => pipeline?.rows);
  const [open, setOpen] = useState<string | null>(null);
  const names = new Map(outputs.map(({ key, label }) => [key, label]));
  return (
    <section className="stack tight">
      <h2>Rows</h2>
      <Answered query={query} what="the rows">
        {() =>
          query.nodes && query.nodes.length > 0 ? (
            <>
              <div className="card flush scroller" tabIndex={0} role="region" aria-label="Rows">
                <table className="one-line">
                  <thead>
                    <tr>
                      {outputs.map(({ key, label }) => (
                        <th key={key} scope="col">
                          {label}
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
                            <td key={output.key}>{shownValue(row, output)}</td>
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
                                names={names}
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
              {query.hasNextPage ? (
                <p>
                  <button
                    type="button"
                    className="button"
                    disabled={query.isFetchingNextPage}
                    onClick={() => void query.fetchNextPage()}
                  >
                    More rows
                  </button>
                </p>
              ) : null}
            </>
          ) : (
            <Empty title="No rows" />
          )
        }
      </Answered>
    </section>
  );
}

function shownValue({ values }: ShownRow, { key, type }: RowOutput): string {
  const value = (values as Record<string, unknown>)[key];
  if (value === null || value === undefined) return "";
  if (type === "TIMESTAMP") return formatUtc(new Date(Number(value)).toISOString()).slice(0, 16);
  if (typeof value === "number") return formatNumber(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

function nameOf(row: ShownRow, keys: readonly string[], outputs: readonly RowOutput[]): string {
  const named = outputs.filter(({ key }) => keys.includes(key));
  return named.map((output) => shownValue(row, output)).join(", ");
}
