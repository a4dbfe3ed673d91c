import { useLocation } from "wouter";
import { pathOf } from "../../parts/address";
import { formatName, formatTime } from "../../parts/format";
import type { Row } from "./Executions";

const MOST = 60;
const WIDTH = 1000;
const BAR = 7;

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
  const x = (time: number) => ((time - first) / (last - first)) * WIDTH;
  const height = shown.length * BAR + 20;
  return (
    <figure className="card">
      <figcaption className="small muted">
        The newest {shown.length}, from {formatTime(new Date(first).toISOString())} to{" "}
        {formatTime(new Date(last).toISOString())}
      </figcaption>
      <svg
        className="bars"
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        height={Math.min(height, 180)}
        role="img"
        aria-label={`Timeline of ${shown.length} executions`}
      >
        {shown.map(({ row, start, end }, index) => (
          <rect
            key={row.id}
            className={row.state}
            x={Math.min(x(start), WIDTH - 4)}
            y={index * BAR}
            width={Math.max(x(end) - x(start), 4)}
            height={BAR - 2}
            // The table below has the same links for the keyboard.
            onClick={() => navigate(pathOf("executions", row.id))}
          >
            <title>{`${row.pipeline.name}: ${formatName(row.state)}, ${formatTime(row.createdAt)}`}</title>
          </rect>
        ))}
      </svg>
    </figure>
  );
}
