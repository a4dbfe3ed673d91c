/** Rows that are objects, as a table; nested values are shown as JSON. */
export function RowsTable({ rows }: { rows: readonly unknown[] }) {
  const objects = rows.filter(isObject);
  const columns = [...new Set(objects.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return <p className="muted">No rows.</p>;
  return (
    <div className="card flush scroller" tabIndex={0} role="region" aria-label="Rows">
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {objects.map((row, index) => (
            <tr key={index}>
              {columns.map((column) => (
                <td key={column}>{show(row[column])}</td>
              ))}
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

function show(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
