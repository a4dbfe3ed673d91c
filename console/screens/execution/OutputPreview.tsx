import { useQuery } from "@tanstack/react-query";
import { nameFields } from "../../parts/csv";
import { fileOf, readFileStart } from "../../parts/fileStart";
import { RowsTable } from "../../parts/RowsTable";
import { Answered } from "../../parts/state";
import { inputRowsOf } from "./inputRows";
import { MOST_REJECTED, useRejectedRows } from "./rejectedFile";
import { whyAt } from "./whyAt";

const ROWS = 20;

interface OutputPreviewProps {
  url: string;
  times: ReadonlySet<string>;
  /** The file of rejected rows; null if none was rejected. */
  errorsUrl: string | null;
}

/** The first rows of the output, read by a range of the file. */
export function OutputPreview({ url, times, errorsUrl }: OutputPreviewProps) {
  const rejected = useRejectedRows(errorsUrl).data;
  const query = useQuery({
    queryKey: ["output", fileOf(url)],
    queryFn: () => readFileStart(url, ROWS + 1),
  });
  return (
    <section className="stack tight" aria-label="Output">
      <h2>The first rows of the output</h2>
      <Answered query={query} what="the output">
        {([header = [], ...rows]) => (
          <RowsTable
            whyAt={whyAt}
            times={times}
            inputRows={
              rejected &&
              inputRowsOf(
                rows.length,
                rejected.map(([row]) => Number(row)),
                rejected.length < MOST_REJECTED,
              )
            }
            rows={nameFields(header, rows)}
          />
        )}
      </Answered>
    </section>
  );
}
