import { Fragment, useState } from "react";
import { Link } from "wouter";
import type { Every, MetricSeriesQuery } from "../../graphql/generated/types";
import { pathOf } from "../../parts/address";
import { formatNumber } from "../../parts/format";
import { Digits } from "../../parts/marks";
import { formatStart } from "../../parts/TimeBars";
import type { ShownMetric } from "./shownMetric";

export type Point = NonNullable<MetricSeriesQuery["metric"]>["series"]["points"][number];

interface PointTableProps {
  points: readonly Point[];
  nameOf: (point: Point) => string;
  every: Every;
  metric: ShownMetric;
  /** The group whose rows count, if not all do. */
  within: string | null;
  onNarrow: (group: string) => void;
}

/** The values as a table; each opens to the rows that it is made of. */
export function PointTable(props: PointTableProps) {
  const { points, nameOf, every, metric, within, onNarrow } = props;
  const [open, setOpen] = useState<string | null>(null);
  const hasNames = points.some((point) => nameOf(point) !== "");
  return (
    <details className="card flush" open={points.length <= 12}>
      <summary>
        {points.length} {points.length === 1 ? "value" : "values"}
      </summary>
      <div className="scroller" tabIndex={0} role="region" aria-label="Values as a table">
        <table className="one-line">
          <thead>
            <tr>
              <th scope="col">Time</th>
              {hasNames ? <th scope="col">Part</th> : null}
              <th scope="col" className="number">
                {metric.unit ?? "Value"}
              </th>
              <th scope="col">
                <span className="visually-hidden">Rows</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {points.map((point) => {
              const key = `${formatStart(point.start, every)} ${nameOf(point)}`.trim();
              return (
                <Fragment key={key}>
                  <tr>
                    <td>{formatStart(point.start, every)}</td>
                    {hasNames ? (
                      <td>
                        <PartName point={point} name={nameOf(point)} {...{ within, onNarrow }} />
                      </td>
                    ) : null}
                    <td className="number">
                      <Digits value={point.value ?? ""} />
                    </td>
                    <td>
                      <button
                        type="button"
                        className="button quiet"
                        aria-expanded={open === key}
                        aria-label={`What ${key} is made of`}
                        onClick={() => setOpen(open === key ? null : key)}
                      >
                        Made of
                      </button>
                    </td>
                  </tr>
                  {open === key ? (
                    <tr>
                      <td colSpan={hasNames ? 4 : 3}>
                        <Sources point={point} every={every} />
                      </td>
                    </tr>
                  ) : null}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

type PartNameProps = Pick<PointTableProps, "within" | "onNarrow"> & { point: Point; name: string };

/** The part of a point; a group leads to the parts that it is made of. */
function PartName({ point: { group }, name, within, onNarrow }: PartNameProps) {
  if (!group || group === within) return name;
  return (
    <button type="button" className="button quiet" onClick={() => onNarrow(group)}>
      {name}
    </button>
  );
}

function Sources({ point, every }: { point: Point; every: Every }) {
  return (
    <ul className="cards">
      {point.sources.map((source, place) => (
        <li key={place} className="card">
          <Link href={rowsOf(source, every)}>
            {formatNumber(source.rows)} {source.rows === 1 ? "row" : "rows"}
          </Link>{" "}
          with {source.output} {source.value ?? "without a value"}
        </li>
      ))}
    </ul>
  );
}

/** The screen with exactly the rows of a source. */
function rowsOf(source: Point["sources"][number], every: Every): string {
  const search = new URLSearchParams({
    from: source.from,
    to: source.to,
    at: source.asAt,
    sum: source.output,
    every,
  });
  if (source.group) search.set("group", source.group);
  if (!source.includeChildGroups) search.set("below", "no");
  return `${pathOf("pipelines", source.pipelineId)}/rows?${search.toString()}`;
}
