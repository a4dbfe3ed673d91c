import { useState } from "react";
import { announce } from "../../app/announcement";
import { useAnswer, useShownWith } from "../../app/queries";
import { MetricSeries } from "../../graphql/generated/metric";
import type { MetricBreakdown } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { EveryField, readEvery } from "../../parts/EveryField";
import { ChoiceField, GroupField } from "../../parts/fields";
import { Answered, Empty } from "../../parts/state";
import { sumByStart } from "../../parts/sumByStart";
import { TimeBars } from "../../parts/TimeBars";
import { SpanField } from "../../parts/SpanField";
import { TimeField } from "../../parts/TimeRange";
import { type Point, PointTable } from "./PointTable";
import { nameOfInput, type ShownMetric } from "./shownMetric";

const BREAKDOWNS: readonly (readonly [MetricBreakdown, string])[] = [
  ["NONE", "all together"],
  ["GROUP", "group"],
  ["INPUT", "input"],
];

/** The values of a metric as bars and as a table, each of which leads to its rows. */
export function Series({ metric }: { metric: ShownMetric }) {
  const { search, change } = useAddress();
  const [year] = useState(() => new Date().getUTCFullYear());
  const every = readEvery(search);
  const [breakdown] = BREAKDOWNS.find(([one]) => one === search.get("by")) ?? ["NONE" as const];
  const typed = { from: search.get("from"), to: search.get("to") };
  const filter = {
    group: search.get("group"),
    from: typed.from ?? `${year - 3}-01-01T00:00:00.000Z`,
    to: typed.to ?? `${year + 1}-01-01T00:00:00.000Z`,
  };
  const variables = { id: metric.id, ...filter, every, breakdown };
  const query = useAnswer(MetricSeries, variables, { keep: true });
  const shown = useShownWith(every, query);
  const nameOf = ({ group, input }: Point) => {
    const source = typeof input === "number" ? metric.inputs[input] : undefined;
    return source ? nameOfInput(source) : (group ?? "");
  };
  const narrow = (group: string) => {
    change({ group }, { isStep: true });
    announce(`Only ${group} is shown now. The browser’s back button returns to your own choice.`);
  };
  const unit = metric.unit ? `${metric.name}, ${metric.unit}` : metric.name;
  return (
    <section className="stack" aria-label="Values">
      <form
        className="filters"
        aria-label="Which values"
        onSubmit={(event) => event.preventDefault()}
      >
        <GroupField
          value={filter.group ?? ""}
          placeholder="all that you see"
          onChange={(group) => change({ group })}
        />
        <SpanField
          span={typed}
          isUtc
          none="the last years"
          onChange={(span) => change({ ...span })}
        />
        <TimeField label="From" value={filter.from} onChange={(from) => change({ from })} />
        <TimeField label="Before" value={filter.to} onChange={(to) => change({ to })} />
        <EveryField value={every} />
        <ChoiceField
          label="For each"
          value={breakdown}
          choices={BREAKDOWNS}
          onChange={(by) => change({ by })}
        />
      </form>
      <Answered query={query} what="the values">
        {({ metric: found }) => {
          const points = found?.series.points ?? [];
          if (points.length === 0) {
            return (
              <Empty title="No values here">
                <p>Choose another group or time, or run a file of a pipeline that is an input.</p>
              </Empty>
            );
          }
          const names = [...new Set(points.map(nameOf))];
          const series = names.map((name) => ({
            name,
            values: sumByStart(points.filter((point) => nameOf(point) === name)),
          }));
          return (
            <>
              {found?.series.isComplete ? null : (
                <p className="muted">You do not see all inputs. The others do not count.</p>
              )}
              <TimeBars label={unit} every={shown} series={series} />
              <PointTable
                points={points}
                nameOf={nameOf}
                every={shown}
                metric={metric}
                within={filter.group}
                onNarrow={narrow}
              />
            </>
          );
        }}
      </Answered>
    </section>
  );
}
