import { Link } from "wouter";
import { formatTimestamp, isMilliseconds } from "./format";
import { Digits } from "./marks";

interface RowsTableProps {
  rows: readonly unknown[];
  /** Where the explanation of a row is, by its number from 1 on. */
  whyAt?: (row: number) => string;
  /** The row of the input from which each row comes, where they differ and as far as it is known. */
  inputRows?: readonly (number | null)[] | undefined;
  /** The columns of timestamps, which are shown as times above the values. */
  times?: ReadonlySet<string>;
}

/** Rows that are objects, as a table; nested values are shown as JSON. */
export function RowsTable({ rows, whyAt, times, inputRows }: RowsTableProps) {
  const objects = rows.filter(isObject);
  const columns = [...new Set(objects.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return <p className="muted">No rows.</p>;
  const numeric = new Set(
    columns.filter(
      (column) => !times?.has(column) && objects.every((row) => isNumeric(row[column])),
    ),
  );
  return (
    <div className="card flush scroller" tabIndex={0} role="region" aria-label="Rows">
      <table>
        <thead>
          <tr>
            {whyAt ? (
              <th scope="col" className="number count">
                {inputRows ? "Output row" : "Row"}
              </th>
            ) : null}
            {inputRows ? (
              <th scope="col" className="number count">
                Input row
              </th>
            ) : null}
            {columns.map((column) => (
              <th key={column} scope="col" className={numeric.has(column) ? "number" : ""}>
                <span className="clipped" title={column}>
                  {column}
                </span>
              </th>
            ))}
            {whyAt ? (
              <th scope="col">
                <span className="visually-hidden">Why</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>
          {objects.map((row, index) => (
            <tr key={index}>
              {whyAt ? <td className="number muted">{index + 1}</td> : null}
              {inputRows ? <td className="number muted">{inputRows[index] ?? "–"}</td> : null}
              {columns.map((column) => (
                <td key={column} className={numeric.has(column) ? "number" : ""}>
                  {times?.has(column) ? (
                    <Timestamp value={row[column]} />
                  ) : (
                    <Shown value={row[column]} />
                  )}
                </td>
              ))}
              {whyAt ? (
                <td>
                  <Link href={whyAt(index + 1)} aria-label={`Why row ${index + 1}`}>
                    Why
                  </Link>
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function isObject(row: unknown): row is Record<string, unknown> {
  return typeof row === "object" && row !== null;
}

/** Whether a value is a number, also one that a file spells out, or none. */
function isNumeric(value: unknown): boolean {
  if (typeof value === "string") return value === "" || /^-?\d+(\.\d+)?$/.test(value);
  return typeof value === "number" || value === null || value === undefined;
}

function Timestamp({ value }: { value: unknown }) {
  const time = formatTimestamp(value);
  if (time === undefined) return <Shown value={value} />;
  return (
    <>
      <time dateTime={`${time.replace(" ", "T")}Z`}>{time} UTC</time>
      {isMilliseconds(value) ? (
        <>
          <br />
          <span className="small muted">{String(value)}</span>
        </>
      ) : null}
    </>
  );
}

/** A text of so many letters stays in one line. */
const SHORT = 20;

function Shown({ value }: { value: unknown }) {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return <Digits value={value} />;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= SHORT ? <span className="short">{text}</span> : text;
}
