import type { Every } from "../graphql/generated/types";
import { Axes } from "./Axes";
import { namedPlaces, roundUp } from "./axis";
import { formatName, formatNumber } from "./format";
import type { TimeValue } from "./sumByStart";

const WIDTH = 1000;
const HEIGHT = 200;
/** The number of colours of bars. */
const COLOURS = 6;
const MOST_NAMES = 6;

export interface TimeSeries {
  readonly name: string;
  readonly values: readonly TimeValue[];
}

interface TimeBarsProps {
  label: string;
  every: Every;
  series: readonly TimeSeries[];
}

/** As many series as there are colours: the largest, in their order. */
export function largestSeries(series: readonly TimeSeries[]): readonly TimeSeries[] {
  if (series.length <= COLOURS) return series;
  const sum = ({ values }: TimeSeries) => values.reduce((all, { value }) => all + value, 0);
  const largest = [...series].sort((one, other) => sum(other) - sum(one)).slice(0, COLOURS);
  return series.filter((one) => largest.includes(one));
}

/** Values over time as bars; those of several series stand side by side, with their names below. */
export function TimeBars({ label, every, series: given }: TimeBarsProps) {
  const series = largestSeries(given);
  const starts = [...new Set(series.flatMap(({ values }) => values.map(({ start }) => start)))];
  starts.sort();
  const all = series.flatMap(({ values }) => values.map(({ value }) => value));
  const most = Math.max(...all, 0);
  const top = roundUp(most);
  const step = WIDTH / starts.length;
  const width = (step * 0.8) / series.length;
  const height = (value: number) => (Math.max(value, 0) / top) * HEIGHT;
  const names = namedPlaces(starts.length, MOST_NAMES).map((place) => ({
    at: (place + 0.5) / starts.length,
    text: formatStart(starts[place] ?? "", every),
  }));
  return (
    <figure className="card stack tight">
      <figcaption>
        <strong>{label}</strong>{" "}
        <span className="muted">
          up to {formatNumber(most)} in one {formatName(every)}
        </span>
      </figcaption>
      <Axes values={[top, top / 2, 0]} names={names}>
        <svg
          className="bars total-bars"
          role="img"
          aria-label={`${label} of ${starts.length} times`}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          height={HEIGHT}
        >
          {[0, HEIGHT / 2, HEIGHT].map((y) => (
            <line key={y} x1={0} x2={WIDTH} y1={y} y2={y} />
          ))}
          {series.flatMap(({ name, values }, place) =>
            values.map(({ start, value }) => (
              <rect
                key={`${name} ${start}`}
                className={`series-${place % COLOURS}`}
                x={starts.indexOf(start) * step + step * 0.1 + place * width}
                y={HEIGHT - height(value)}
                width={width}
                height={height(value)}
              >
                <title>
                  {`${name} ${formatStart(start, every)}: ${formatNumber(value)}`.trim()}
                </title>
              </rect>
            )),
          )}
        </svg>
      </Axes>
      {given.length > series.length ? (
        <p className="small muted">
          The {series.length} largest of {given.length} are drawn; the table has all.
        </p>
      ) : null}
      {series.length > 1 ? (
        <ul className="pills" aria-label="Colours">
          {series.map(({ name }, place) => (
            <li key={name} className="row middle small">
              <svg className="swatch" width="12" height="12" aria-hidden>
                <rect className={`series-${place % COLOURS}`} width="12" height="12" />
              </svg>
              {name}
            </li>
          ))}
        </ul>
      ) : null}
    </figure>
  );
}

/** The start of a time in UTC, as far as its length needs. */
export function formatStart(start: string, every: Every): string {
  if (every === "HOUR") return start.slice(0, 16).replace("T", " ");
  if (every === "YEAR") return start.slice(0, 4);
  return every === "MONTH" || every === "QUARTER" ? start.slice(0, 7) : start.slice(0, 10);
}
