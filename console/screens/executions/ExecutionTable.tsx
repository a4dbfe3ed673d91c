import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { Link } from "wouter";
import { pathOf } from "../../parts/address";
import { formatDuration } from "../../parts/format";
import { Digits, ExecutionBadge, Time } from "../../parts/marks";
import type { Row } from "./liveRows";

interface ExecutionTableProps {
  rows: readonly Row[];
  pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

const ROW_HEIGHT = 64;

/** A table of executions of any length: only the rows in view are in the page. */
export function ExecutionTable({ rows, pages }: ExecutionTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 10,
  });
  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  useEffect(() => {
    if (last >= rows.length - 10 && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [last, rows.length, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const before = shown[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    <div
      className="card flush scroller"
      ref={scroller}
      tabIndex={0}
      role="region"
      aria-label="List of executions"
    >
      <table aria-rowcount={hasNextPage ? -1 : rows.length + 1}>
        <thead>
          <tr>
            <th scope="col">State</th>
            <th scope="col">Pipeline</th>
            <th scope="col">Input</th>
            <th scope="col">Created</th>
            <th scope="col" className="number">
              Took
            </th>
            <th scope="col" className="number">
              Rows
            </th>
            <th scope="col" className="number">
              Rejected
            </th>
          </tr>
        </thead>
        <tbody>
          <Spacer height={before} />
          {shown.map(({ index }) => {
            const row = rows[index];
            return row ? <ExecutionRow key={row.id} row={row} index={index} /> : null;
          })}
          <Spacer height={after} />
        </tbody>
      </table>
      <p role="status" className="visually-hidden">
        {isFetchingNextPage ? "Loading more executions…" : `${rows.length} executions shown`}
      </p>
    </div>
  );
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr aria-hidden>
      <td colSpan={7} style={{ height, padding: 0 }} />
    </tr>
  );
}

function ExecutionRow({ row, index }: { row: Row; index: number }) {
  const { progress, durationSeconds } = row;
  return (
    <tr aria-rowindex={index + 2} style={{ height: ROW_HEIGHT }}>
      <td>
        <ExecutionBadge id={row.id} state={row.state} rejected={progress?.rowsFailed ?? 0} />
        {row.stateMessage ? (
          <span className="clipped small muted" title={row.stateMessage}>
            {row.stateMessage}
          </span>
        ) : null}
      </td>
      <td>
        <Link className="clipped" href={pathOf("executions", row.id)} title={row.pipeline.name}>
          {row.pipeline.name}
        </Link>
        <span className="small muted">
          {row.pipeline.owner}, version {row.pipelineVersion}
        </span>
      </td>
      <td>
        {row.input.name ? (
          <span className="clipped" title={row.input.name}>
            {row.input.name}
          </span>
        ) : (
          <span className="muted">–</span>
        )}
      </td>
      <td>
        <Time at={row.createdAt} />
        <br />
        <span className="small muted">{row.createdBy}</span>
      </td>
      <td className="number">{durationSeconds == null ? "–" : formatDuration(durationSeconds)}</td>
      <td className="number">{progress ? <Digits value={progress.rowsSucceeded} /> : "–"}</td>
      <td className="number">{progress ? <Digits value={progress.rowsFailed} /> : "–"}</td>
    </tr>
  );
}
