import { useLocation } from "wouter";
import { pathOf } from "../../parts/address";
import { Axes } from "../../parts/Axes";
import { formatName, formatTime } from "../../parts/format";
import type { Row } from "./liveRows";

const MOST = 60;
const WIDTH = 1000;
const HEIGHT = 180;
/** The height of a bar with the gap below it: as few of them as fit are thick. */
const THICKEST = 16;
/** So wide is the shortest bar: it is seen, and can be pointed at. */
const NARROWEST = 12;
const NAMES = [0, 0.25, 0.5, 0.75, 1];

/** When the newest executions ran, as bars over time. */
export function Timeline({ rows }: { rows: readonly Row[] }) {
  const [, navigate] = useLocation();
  const newest = rows.slice(0, MOST).map((row) => ({
    row,
    start: Date.parse(row.startedAt ?? row.createdAt),
    end: row.finishedAt ? Date.parse(row.finishedAt) : null,
  }));
  // What goes on has no end yet: its bar reaches to the end of the shown time.
  const known = newest.map(({ start, end }) => end ?? start);
  const present = Math.max(...known);
  const shown = newest.map((one) => ({ ...one, end: one.end ?? present }));
  const first = Math.min(...shown.map(({ start }) => start));
  const last = Math.max(...shown.map(({ end }) => end), first + 1);
  const x = (time: number) => ((time - first) / (last - first)) * (WIDTH - NARROWEST);
  const bar = Math.min(THICKEST, HEIGHT / shown.length);
  const height = bar * shown.length;
  const names = NAMES.map((at) => ({
    at,
    text: formatMoment(first + at * (last - first), last - first),
  }));
  return (
    <figure className="card">
      <figcaption className="small muted">
        The newest {shown.length}, from {formatTime(new Date(first).toISOString())} to{" "}
        {formatTime(new Date(last).toISOString())}
      </figcaption>
      <Axes values={[]} names={names}>
        <svg
          className="bars"
          viewBox={`0 0 ${WIDTH} ${height}`}
          preserveAspectRatio="none"
          height={height}
          role="img"
          aria-label={`Timeline of ${shown.length} executions`}
        >
          {NAMES.map((at) => (
            <line key={at} x1={at * WIDTH} x2={at * WIDTH} y1={0} y2={height} />
          ))}
          {shown.map(({ row, start, end }, index) => (
            <rect
              key={row.id}
              className={row.state}
              x={x(start)}
              y={index * bar}
              width={Math.max(x(end) - x(start), NARROWEST)}
              height={bar * 0.75}
              // The table below has the same links for the keyboard.
              onClick={() => navigate(pathOf("executions", row.id))}
            >
              <title>{`${row.pipeline.name}: ${formatName(row.state)}, ${formatTime(row.createdAt)}`}</title>
            </rect>
          ))}
        </svg>
      </Axes>
    </figure>
  );
}

const DAY = 86_400_000;
/** The names on so short an axis differ by parts of a second. */
const MOMENT = 4_000;

/** A time on the axis, as far as the length of the axis needs. */
function formatMoment(time: number, span: number): string {
  const clock = { hour: "2-digit", minute: "2-digit" } as const;
  const exact = { ...clock, second: "2-digit" } as const;
  const options =
    span < DAY / 24 / 6
      ? { ...exact, ...(span < MOMENT ? ({ fractionalSecondDigits: 3 } as const) : {}) }
      : span < DAY
        ? clock
        : ({ day: "numeric", month: "short", ...(span < 4 * DAY ? clock : {}) } as const);
  return new Intl.DateTimeFormat("en-GB", { ...options, hourCycle: "h23" }).format(time);
}
