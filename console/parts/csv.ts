/** Read the records of a CSV text (RFC 4180), at most so many; the last may lack its line end. */
export function readCsv(text: string, most: number): string[][] {
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
    else if (letter === ",") endField();
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

function parameterOf(column: string, parameters: readonly NamedParameter[]) {
  const byKey = parameters.find(({ key }) => key === column);
  const byLabel = parameters.filter(({ label }) => label === column);
  return byKey ?? (byLabel.length === 1 ? (byLabel[0] ?? null) : null);
}

/** The rows of a small file as the API takes them: objects from column to text, null if empty. */
export function toRows(records: readonly (readonly string[])[]): Record<string, string | null>[] {
  const [header = [], ...rows] = records;
  return rows.map((fields) =>
    Object.fromEntries(header.map((column, index) => [column, fields[index] || null])),
  );
}
