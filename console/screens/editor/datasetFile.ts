import { readCsv, readHead } from "../../parts/csv";
import type { Draft, DraftColumn } from "./draft";
import type { ValueType } from "../../graphql/generated/types";

const HEAD_ROWS = 200;

/** What the API takes in a mutation; larger files are loaded by a job. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_ROWS = 50_000;
const MOST_FIELDS = 250_000;
const MOST_COLUMNS = 50;

export interface DatasetFile {
  readonly file: File;
  readonly header: readonly string[];
  /** Its first rows. */
  readonly rows: readonly (readonly string[])[];
  /** What is wrong with it, in sentences; none if it can be sent. */
  readonly problems: readonly string[];
  /** Whether a job has to load it. */
  readonly isLarge: boolean;
}

/** Look at a file that is to be the rows of a dataset. */
export async function readDatasetFile(file: File): Promise<DatasetFile> {
  const { kind, text } = await readHead(file);
  if (kind !== null) {
    const problems = [`It is ${kind}; a dataset is made of a CSV file.`];
    return { file, header: [], rows: [], problems, isLarge: false };
  }
  const [header = [], ...rows] = readCsv(text, HEAD_ROWS + 1);
  const isLarge = file.size > MOST_BYTES || exceeds(await file.text(), header.length);
  return { file, header, rows, problems: headerProblems(header), isLarge };
}

/** Whether a text has more lines than the API takes rows in a mutation, or more fields. */
function exceeds(text: string, columns: number): boolean {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines > MOST_ROWS || lines * columns > MOST_FIELDS;
}

function headerProblems(header: readonly string[]): string[] {
  if (header.length === 0) return ["The file is empty."];
  const [only = ""] = header.length === 1 ? header : [];
  const separator = /[;\t|]/.exec(only)?.[0];
  if (separator) {
    const name = separator === "\t" ? "tabs" : `“${separator}”`;
    return [`Its columns are separated by ${name}; those of a dataset are by commas.`];
  }
  const found: string[] = [];
  if (header.length > MOST_COLUMNS) found.push(`It has more than ${MOST_COLUMNS} columns.`);
  header.forEach((name, index) => {
    if (name.trim() === "") found.push(`Column ${index + 1} has no name.`);
    else if (header.indexOf(name) < index) found.push(`Two columns are named “${name}”.`);
  });
  return found;
}

/** The columns of a file: those that the draft has keep what is said of them, others are guessed. */
export function columnsOf(
  { header, rows }: Pick<DatasetFile, "header" | "rows">,
  draft: Draft,
): Pick<Draft, "columns" | "keyColumns"> {
  const known = new Map(draft.columns.map((column) => [column.name, column]));
  const columns = header.map<DraftColumn>(
    (name, at) =>
      known.get(name) ?? {
        name,
        description: "",
        type: guessType(rows.map((row) => row[at] ?? "")),
      },
  );
  const kept = draft.keyColumns.filter((name) => header.includes(name));
  return { columns, keyColumns: kept.length > 0 ? kept : header.slice(0, 1) };
}

/** The type that all values have; text if they have none, or if a number would lose its zeros. */
export function guessType(values: readonly string[]): ValueType {
  const given = values.filter((value) => value !== "");
  if (given.length === 0) return "STRING";
  if (given.every((value) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(value)))
    return "NUMBER";
  return given.every((value) => /^(true|false)$/i.test(value)) ? "BOOLEAN" : "STRING";
}

/** A file that has only the header: what a dataset is before its rows are loaded. */
export function headerLine(header: readonly string[]): string {
  const quoted = header.map((name) =>
    /[",\r\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name,
  );
  return `${quoted.join(",")}\n`;
}
