import { nameFields } from "./csv";
import { RowsTable } from "./RowsTable";

/** As many rows of a chosen file are shown before it is sent. */
export const PREVIEW_ROWS = 5;

interface FileRowsProps {
  header: readonly string[];
  rows: readonly (readonly string[])[];
}

/** The first rows of a chosen file. */
export function FileRows({ header, rows }: FileRowsProps) {
  return <RowsTable rows={nameFields(header, rows.slice(0, PREVIEW_ROWS))} />;
}

interface FileProblemsProps {
  /** What follows for the file. */
  words: string;
  problems: readonly string[];
}

/** Why a chosen file is not sent. */
export function FileProblems({ words, problems }: FileProblemsProps) {
  return (
    <div role="alert" className="note note-bad">
      <strong>{words}</strong>
      <ul>
        {problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </div>
  );
}
