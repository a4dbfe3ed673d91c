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
}

const SEPARATORS = [",", ";", "\t", "|"] as const;

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
  return readCsv(text, most, best);
}

/** What is wrong with the header of a file for these parameters, in sentences; none if it fits. */
export function headerProblems(
  header: readonly string[],
  parameters: readonly NamedParameter[],
): string[] {
  if (parameters.length === 0) return [];
  const found: string[] = [];
  const seen = new Set<string>();
  for (const column of header) {
    const parameter = parameterOf(column, parameters);
    if (parameter === null) found.push(`The pipeline has no parameter “${column}”.`);
    else if (seen.has(parameter.key)) found.push(`“${column}” stands for a parameter twice.`);
    else seen.add(parameter.key);
  }
  for (const { key, label } of parameters) {
    if (!seen.has(key)) found.push(`The column “${label ?? key}” is missing.`);
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
