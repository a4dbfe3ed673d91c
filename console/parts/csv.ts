import type { ExtraColumns } from "../graphql/generated/types";

/** Read the records of a CSV text (RFC 4180), at most so many; the last may lack its line end. */
export function readCsv(text: string, most: number, separator = ","): string[][] {
  const records: string[][] = [];
  let fields: string[] = [];
  let field = "";
  let isQuoted = false;
  const endField = () => {
    fields.push(field);
    field = "";
  };
  const endRecord = () => {
    endField();
    if (fields.length > 1 || fields[0] !== "") records.push(fields);
    fields = [];
  };
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  for (let at = 0; at < source.length && records.length < most; at += 1) {
    const letter = source[at] ?? "";
    if (isQuoted) {
      if (letter !== '"') field += letter;
      else if (source[at + 1] === '"') {
        field += '"';
        at += 1;
      } else isQuoted = false;
    } else if (letter === '"' && field === "") isQuoted = true;
    else if (letter === separator) endField();
    else if (letter === "\n") endRecord();
    else if (letter !== "\r") field += letter;
  }
  if (records.length < most && (field !== "" || fields.length > 0)) endRecord();
  return records;
}

export interface NamedParameter {
  readonly key: string;
  readonly label?: string | null;
  readonly required?: boolean;
}

const SIGNATURES = [
  { bytes: [0x1f, 0x8b], kind: "gzip" },
  { bytes: [0x50, 0x4b, 0x03, 0x04], kind: "Excel" },
  { bytes: [0x50, 0x41, 0x52, 0x31], kind: "Parquet" },
] as const;

/** As much of a file is looked at before it is sent. */
const HEAD_BYTES = 256 * 1024;

/** The text of the first bytes of a file, or its kind if only the server reads it. */
export async function readHead(
  file: File,
): Promise<{ kind: string; text: null } | { kind: null; text: string }> {
  const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const kind = packedKind(head);
  return kind === null ? { kind, text: decodeHead(head) } : { kind, text: null };
}

/** The kind of a file that only the server reads; null for text. */
export function packedKind(head: Uint8Array): string | null {
  return SIGNATURES.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte))?.kind ?? null;
}

/** The text of the first bytes of a file: UTF-16 if it says so, UTF-8, or else Windows-1252. */
export function decodeHead(head: Uint8Array): string {
  const [first = 1, second = 1] = head;
  if ((first === 0xff && second === 0xfe) || (second === 0 && first !== 0)) {
    return new TextDecoder("utf-16le").decode(head);
  }
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) {
    return new TextDecoder("utf-16be").decode(head);
  }
  const at = head.findIndex((byte) => byte > 0x7f);
  const letter = new TextDecoder().decode(head.subarray(at, at + 4));
  const isUtf8 = at < 0 || !letter.startsWith("\uFFFD");
  return new TextDecoder(isUtf8 ? "utf-8" : "windows-1252").decode(head);
}

const SEPARATORS = [",", ";", "\t", "|"] as const;

/** The columns in front of a file of rejected rows, which the server leaves out. */
const REJECTED_COLUMNS = ["row", "column", "code", "message"] as const;

/** Read a file by the separator with which most columns are parameters, as the server does. */
export function readFile(
  text: string,
  most: number,
  parameters: readonly NamedParameter[],
): string[][] {
  const known = (separator: string) =>
    (readCsv(text, 1, separator)[0] ?? []).filter((column) => parameterOf(column, parameters))
      .length;
  const [first, ...others] = SEPARATORS;
  const best = others.reduce<string>(
    (chosen, one) => (known(one) > known(chosen) ? one : chosen),
    first,
  );
  return rowsOfRejected(readCsv(text, most, best), parameters);
}

/** The records of a file; those of rejected rows without what tells why they were rejected. */
function rowsOfRejected(records: string[][], parameters: readonly NamedParameter[]): string[][] {
  const [header = []] = records;
  const count = REJECTED_COLUMNS.length;
  const behind = header.slice(count).map((column) => parameterOf(column, parameters));
  const isRejected = REJECTED_COLUMNS.every((column, at) => {
    const parameter = parameterOf(column, parameters);
    return header[at] === column && (parameter === null || behind.includes(parameter));
  });
  if (!isRejected || behind.length === 0) return records;
  return records
    .map((fields) => fields.slice(count))
    .filter((fields) => fields.some((field) => field !== ""));
}

/** What is wrong with the header of a file for these parameters, in sentences; none if it fits. */
export function headerProblems(
  header: readonly string[],
  parameters: readonly NamedParameter[],
  extraColumns: ExtraColumns = "REFUSE",
): string[] {
  if (parameters.length === 0) return [];
  const found: string[] = [];
  const seen = new Set<string>();
  for (const column of header) {
    const parameter = parameterOf(column, parameters);
    if (parameter === null) {
      if (extraColumns === "REFUSE") found.push(`The pipeline has no parameter “${column}”.`);
    } else if (seen.has(parameter.key)) found.push(`“${column}” stands for a parameter twice.`);
    else seen.add(parameter.key);
  }
  for (const { key, label, required } of parameters) {
    if (!seen.has(key) && (required || seen.size === 0))
      found.push(`The column “${label ?? key}” is missing.`);
  }
  return found;
}

/** The parameter of a column, in the given letter case or in any that is not ambiguous. */
function parameterOf(column: string, parameters: readonly NamedParameter[]) {
  const only = (found: readonly NamedParameter[]) => (found.length === 1 ? found[0] : undefined);
  const folded = column.toLowerCase();
  return (
    parameters.find(({ key }) => key === column) ??
    only(parameters.filter(({ label }) => label === column)) ??
    only(
      parameters.filter(
        ({ key, label }) => key.toLowerCase() === folded || label?.toLowerCase() === folded,
      ),
    ) ??
    null
  );
}

/** Rows of texts as objects by the names of their columns. */
export function nameFields(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): Record<string, string>[] {
  return rows.map((fields) =>
    Object.fromEntries(header.map((name, at) => [name, fields[at] ?? ""])),
  );
}

/** The rows of a small file as the API takes them: objects from key to text, null if empty. */
export function toRows(
  records: readonly (readonly string[])[],
  parameters: readonly NamedParameter[],
): Record<string, string | null>[] {
  const [header = [], ...rows] = records;
  const keys = header.map((column) => parameterOf(column, parameters)?.key ?? column);
  return rows.map((fields) =>
    Object.fromEntries(keys.map((key, index) => [key, fields[index] || null])),
  );
}
