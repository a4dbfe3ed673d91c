import { FileProblems, FileRows } from "../../parts/ChosenFile";
import { CheckField, Field } from "../../parts/fields";
import { DropPlace } from "../../parts/DropPlace";
import { formatBytes } from "../../parts/format";
import { type DatasetFile } from "./datasetFile";
import { type Draft, type DraftColumn, withEntry } from "./draft";
import { TypeField } from "./TypeField";

/** As many as the API takes. */
const MOST_KEYS = 5;

interface DatasetFieldsProps {
  draft: Draft;
  /** The file that becomes its rows; null if none was chosen. */
  chosen: DatasetFile | null;
  onFile: (file: File) => void;
  onChange: (change: Partial<Draft>) => void;
}

/** The file of a dataset, and what its columns are. */
export function DatasetFields({ draft, chosen, onFile, onChange }: DatasetFieldsProps) {
  return (
    <section className="stack" aria-label="Rows of the dataset">
      <h2>Rows</h2>
      {draft.version === null ? null : (
        <p className="muted">They stay as they are, unless you choose a file that replaces them.</p>
      )}
      <DropPlace
        label="File of the dataset"
        words="Drop a CSV file here, or choose one: UTF-8, with commas, and its first line names the columns."
        accept=".csv,.txt,text/csv"
        onFile={onFile}
      />
      {chosen ? <ChosenFile draft={draft} chosen={chosen} onChange={onChange} /> : null}
    </section>
  );
}

type ChosenFileProps = Pick<DatasetFieldsProps, "draft" | "onChange"> & { chosen: DatasetFile };

function ChosenFile({ draft, chosen, onChange }: ChosenFileProps) {
  const { file, header, rows, problems, isLarge } = chosen;
  if (problems.length > 0) {
    return <FileProblems words={`${file.name} cannot be taken.`} problems={problems} />;
  }
  const isKey = (name: string) => draft.keyColumns.includes(name);
  const changeKey = (name: string) =>
    onChange({
      keyColumns: header.filter((one) => (one === name ? !isKey(one) : isKey(one))),
    });
  return (
    <>
      <h3>
        {file.name} <span className="muted">{formatBytes(file.size)}</span>
      </h3>
      {isLarge ? (
        <p className="note">
          A job loads its rows after it is saved; its screen shows how far it is.
        </p>
      ) : null}
      <FileRows header={header} rows={rows} />
      <fieldset className="stack tight">
        <legend>Columns</legend>
        <p className="small muted">
          Formulas find a row by its key. No two rows have the same key: of one column, or of up to{" "}
          {MOST_KEYS} together.
        </p>
        {draft.columns.map((column, index) => (
          <ColumnFields
            key={column.name}
            column={column}
            isKey={isKey(column.name)}
            mayBeKey={draft.keyColumns.length < MOST_KEYS}
            onKey={() => changeKey(column.name)}
            onChange={(changed) => onChange({ columns: withEntry(draft.columns, index, changed) })}
          />
        ))}
        {draft.keyColumns.length === 0 ? (
          <p role="alert" className="wrong">
            Choose the column by which rows are found.
          </p>
        ) : null}
      </fieldset>
    </>
  );
}

interface ColumnFieldsProps {
  column: DraftColumn;
  isKey: boolean;
  mayBeKey: boolean;
  onKey: () => void;
  onChange: (column: DraftColumn) => void;
}

function ColumnFields({ column, isKey, mayBeKey, onKey, onChange }: ColumnFieldsProps) {
  return (
    <div className="row">
      <TypeField
        label={`Type of ${column.name}`}
        type={column.type}
        onChange={(type) => onChange({ ...column, type })}
      />
      <Field label={`Meaning of ${column.name}`} className="grow">
        <input
          value={column.description}
          maxLength={512}
          onChange={(event) => onChange({ ...column, description: event.target.value })}
        />
      </Field>
      <CheckField
        label="in the key"
        name={`${column.name} is in the key`}
        checked={isKey}
        disabled={!isKey && !mayBeKey}
        onChange={onKey}
      />
    </div>
  );
}
