import { announce } from "../../app/announcement";
import { usePages, useShownWith } from "../../app/queries";
import { RowTotals } from "../../graphql/generated/rows";
import type { Every, RowConditionInput, RowTotalsQuery } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { Digits } from "../../parts/marks";
import { Answered, Empty, More } from "../../parts/state";
import { sumByStart } from "../../parts/sumByStart";
import { formatStart, TimeBars } from "../../parts/TimeBars";
import { writeTag } from "../catalogue/tagFilter";
import type { RowOutput } from "./rowOutputs";

export interface RowFilter {
  readonly group: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly asAt: string | null;
  /** Whether rows of groups below the group are meant too. */
  readonly below: boolean;
  readonly where: RowConditionInput[];
}

type TotalNode = NonNullable<RowTotalsQuery["pipeline"]>["totals"]["nodes"][number];

interface TotalsProps {
  id: string;
  filter: RowFilter;
  sum: RowOutput;
  every: Every | null;
  by: RowOutput | undefined;
}

/** The sums over time as bars and as a table; a time leads to its rows. */
export function Totals({ id, filter, ...asked }: TotalsProps) {
  const { sum, every, by } = asked;
  const measures = [{ output: sum.key, function: "SUM" as const, as: "sum" }];
  const variables = { id, ...filter, every, by: by ? [by.key] : [], measures };
  const query = usePages(RowTotals, variables, ({ pipeline }) => pipeline?.totals);
  const shown = useShownWith(asked, query);
  return (
    <section className="stack" aria-label="Totals">
      <Answered query={query} what="the totals">
        {() => {
          const nodes = query.nodes ?? [];
          if (nodes.length === 0) {
            return (
              <Empty title="No rows here">
                <p>Choose another group or time, or run a file.</p>
              </Empty>
            );
          }
          return (
            <>
              {shown.every ? (
                <TimeBars label={shown.sum.label} every={shown.every} series={seriesOf(nodes)} />
              ) : null}
              <TotalTable nodes={nodes} {...shown} />
              <More pages={query} what="totals" />
            </>
          );
        }}
      </Answered>
    </section>
  );
}

/** The totals over time for each value of an output, or for all together. */
function seriesOf(nodes: readonly TotalNode[]) {
  const names = [...new Set(nodes.map(nameOf))];
  return names.map((name) => {
    const ofName = nodes.filter((node) => nameOf(node) === name);
    const values = ofName.map(({ start, measures: [first] }) => ({ start, value: first?.value }));
    return { name, values: sumByStart(values) };
  });
}

const nameOf = ({ by: [value] }: TotalNode) => value?.value ?? "";

function TotalTable({
  nodes,
  sum,
  every,
  by,
}: Pick<TotalsProps, "sum" | "every" | "by"> & { nodes: readonly TotalNode[] }) {
  const { search, change } = useAddress();
  const drill = ({ start, end, by: values }: TotalNode) => {
    const value = values[0]?.value;
    const time = every && start ? formatStart(start, every) : null;
    const where = by && value != null ? [writeTag({ key: by.key, value })] : [];
    // The reader's own choice is one step back.
    change(
      {
        ...(time ? { from: start ?? null, to: end ?? null } : {}),
        where: [...new Set([...search.getAll("where"), ...where])],
      },
      { isStep: true },
    );
    const chosen = [...(time ? [time] : []), ...(by && value != null ? [value] : [])].join(", ");
    announce(`Only ${chosen} is shown now. The browser’s back button returns to your own choice.`);
  };
  return (
    <details className="card flush" open={nodes.length <= 12}>
      <summary>
        {nodes.length} {nodes.length === 1 ? "total" : "totals"}
      </summary>
      <div className="scroller" tabIndex={0} role="region" aria-label="Totals as a table">
        <table className="one-line">
          <thead>
            <tr>
              {every ? <th scope="col">Time</th> : null}
              {by ? <th scope="col">{by.label}</th> : null}
              <th scope="col" className="number">
                {sum.label}
              </th>
              <th scope="col" className="number">
                Rows
              </th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((total) => {
              const { start, rows, measures } = total;
              const words = [
                ...(every && start ? [formatStart(start, every)] : []),
                ...(by ? [nameOf(total)] : []),
              ];
              return (
                <tr key={words.join(" ")}>
                  {words.map((text, index) => (
                    <td key={index}>
                      {index === 0 ? (
                        <button type="button" className="button quiet" onClick={() => drill(total)}>
                          {text}
                        </button>
                      ) : (
                        text
                      )}
                    </td>
                  ))}
                  <td className="number">
                    <Digits value={measures[0]?.value ?? ""} />
                  </td>
                  <td className="number">
                    <Digits value={rows} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}
