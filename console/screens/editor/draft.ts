import type { FieldProblem } from "../../app/failure";
import type {
  DatasetColumnInput,
  DatasetTargetInput,
  EditedCalculationQuery,
  EditedDatasetQuery,
  EditedMetricQuery,
  EditedPipelineQuery,
  ExtraColumns,
  MeasureFunction,
  MetricInput,
  OutputInput,
  ParameterInput,
  RowsInput,
  State,
  TagInput,
  TimestampForm,
  ValueType,
} from "../../graphql/generated/types";

export const KINDS = ["pipeline", "calculation", "metric", "dataset"] as const;

export type EditedKind = (typeof KINDS)[number];

export interface DraftParameter {
  readonly key: string;
  readonly label: string;
  readonly description: string;
  readonly type: ValueType;
  readonly required: boolean;
}

export interface DraftOutput {
  readonly key: string;
  readonly label: string;
  readonly description: string;
  readonly type: ValueType;
}

export interface DraftFormula {
  readonly formula: string;
  readonly outputs: readonly DraftOutput[];
}

/** An input of a metric: an output of a pipeline, or another metric. */
export interface DraftInput {
  readonly kind: "pipeline" | "metric";
  /** The id of one that was read; null as soon as another name is typed. */
  readonly id: string | null;
  readonly name: string;
  readonly output: string;
}

/** A column of the file of a dataset. */
export interface DraftColumn {
  readonly name: string;
  readonly description: string;
  readonly type: ValueType;
}

/**
 * What is edited: a pipeline has several formulas, a calculation exactly one, a metric inputs, and a
 * dataset columns.
 */
export interface Draft {
  readonly name: string;
  readonly group: string;
  readonly description: string;
  readonly summary: string;
  readonly state: State;
  readonly tags: readonly TagInput[];
  readonly parameters: readonly DraftParameter[];
  readonly formulas: readonly DraftFormula[];
  /** The outputs that identify the rows that a pipeline keeps. */
  readonly rows: RowsInput | null;
  /** The reference dataset that a pipeline writes, which stays as it is. */
  readonly dataset: DatasetTargetInput | null;
  readonly extraColumns: ExtraColumns;
  /** The form that timestamps have in outputs. */
  readonly timestamps: TimestampForm;
  /** The unit of the values of a metric, and the function over its inputs. */
  readonly unit: string;
  readonly measure: MeasureFunction;
  /** Null if the caller does not see all of them: then they stay as they are. */
  readonly inputs: readonly DraftInput[] | null;
  /** The columns of a dataset in the order of its file, and the names of those that identify a row. */
  readonly columns: readonly DraftColumn[];
  readonly keyColumns: readonly string[];
  /** From when the saved version is active, if that is still to come; null for as soon as it is saved. */
  readonly activeFrom: string | null;
  /** The version that was read; null for a new one. */
  readonly version: number | null;
}

/** The list with an entry replaced, or without it. */
export function withEntry<Entry>(
  list: readonly Entry[],
  index: number,
  entry: Entry | null,
): Entry[] {
  return list.flatMap((one, at) => (at !== index ? [one] : entry === null ? [] : [entry]));
}

export const NEW_PARAMETER: DraftParameter = {
  key: "",
  label: "",
  description: "",
  type: "NUMBER",
  required: true,
};

export const NEW_FORMULA: DraftFormula = {
  formula: "",
  outputs: [{ key: "", label: "", description: "", type: "NUMBER" }],
};

export const NEW_INPUT: DraftInput = { kind: "pipeline", id: null, name: "", output: "" };

export function newDraft(group: string): Draft {
  return {
    name: "",
    group,
    description: "",
    summary: "",
    state: "ENABLED",
    tags: [],
    parameters: [NEW_PARAMETER],
    formulas: [NEW_FORMULA],
    rows: null,
    dataset: null,
    extraColumns: "REFUSE",
    timestamps: "ISO_8601",
    unit: "",
    measure: "SUM",
    inputs: [NEW_INPUT],
    columns: [],
    keyColumns: [],
    activeFrom: null,
    version: null,
  };
}

type ReadResource = Pick<
  NonNullable<EditedMetricQuery["metric"]>,
  "name" | "owner" | "description" | "state" | "tags" | "activeFrom" | "version"
>;

/** The fields of a draft that resources of all kinds have, over those of a new one. */
function draftOf(read: ReadResource): Draft {
  const { name, owner, description, state, tags, activeFrom, version } = read;
  return {
    ...newDraft(owner),
    name,
    description: description ?? "",
    state,
    tags: tags.map(({ key, value }) => ({ key, value })),
    activeFrom: Date.parse(activeFrom) > Date.now() ? activeFrom : null,
    version,
  };
}

interface Named {
  key?: string | null;
  label?: string | null;
  description?: string | null;
  type: ValueType;
}

const named = ({ key, label, description, type }: Named) => ({
  key: key ?? "",
  label: label ?? "",
  description: description ?? "",
  type,
});

export const isTimestamp = ({ type }: Pick<DraftOutput, "type">): boolean => type === "TIMESTAMP";

export function draftOfPipeline(read: NonNullable<EditedPipelineQuery["pipeline"]>): Draft {
  const { parameters, transforms, rows, dataset, extraColumns, timestamps } = read.transformer;
  const hasTimes = transforms.some(({ outputs }) => outputs.some(isTimestamp));
  return {
    ...draftOf(read),
    parameters: parameters.map((one) => ({ ...named(one), required: one.required })),
    formulas: transforms.map(({ formula, outputs }) => ({ formula, outputs: outputs.map(named) })),
    rows: rows
      ? {
          key: rows.key,
          time: rows.time ?? null,
          group: rows.group ?? null,
          keepDays: rows.keepDays ?? null,
        }
      : null,
    dataset: dataset ? { id: dataset.referenceDatasetId, key: dataset.key } : null,
    extraColumns,
    // Without a timestamp the form has no meaning yet: the first one gets that of new pipelines.
    timestamps: hasTimes ? timestamps : "ISO_8601",
  };
}

export function draftOfCalculation(
  read: NonNullable<EditedCalculationQuery["calculation"]>,
): Draft {
  return {
    ...draftOf(read),
    summary: read.summary ?? "",
    parameters: read.parameters.map((one) => ({ ...named(one), required: one.required })),
    formulas: [{ formula: read.formula, outputs: read.outputs.map(named) }],
  };
}

export function draftOfMetric(read: NonNullable<EditedMetricQuery["metric"]>): Draft {
  return {
    ...draftOf(read),
    unit: read.unit ?? "",
    measure: read.function,
    inputs: inputsOf(read.inputs),
  };
}

export function draftOfDataset(read: NonNullable<EditedDatasetQuery["dataset"]>): Draft {
  const { columns, keyColumns } = read.content;
  return {
    ...draftOf(read),
    columns: columns.map(({ name, description, type }) => ({
      name,
      description: description ?? "",
      type,
    })),
    keyColumns,
  };
}

function inputsOf(read: NonNullable<EditedMetricQuery["metric"]>["inputs"]): DraftInput[] | null {
  const inputs = read.flatMap(({ name, output, pipelineId, metricId }) => {
    const id = metricId ?? pipelineId;
    const kind = metricId ? "metric" : "pipeline";
    return id == null || name == null ? [] : ([{ kind, id, name, output: output ?? "" }] as const);
  });
  return inputs.length === read.length ? inputs : null;
}

export function parameterInputs(parameters: readonly DraftParameter[]): ParameterInput[] {
  return parameters.map(({ key, label, description, type, required }, index) => ({
    index,
    key,
    label: label || null,
    description: description || null,
    type,
    required,
  }));
}

export function outputInputs(outputs: readonly DraftOutput[]): OutputInput[] {
  return outputs.map(({ key, label, description, type }, index) => ({
    index,
    key: key || null,
    label: label || null,
    description: description || null,
    type,
  }));
}

/** The fields of the inputs of all kinds, of creation and of update. */
export function commonContent(draft: Draft) {
  return {
    name: draft.name,
    description: draft.description || null,
    tags: [...draft.tags],
  };
}

/** The fields of both inputs of a pipeline. */
export function pipelineContent(draft: Draft) {
  return {
    ...commonContent(draft),
    transformer: {
      parameters: parameterInputs(draft.parameters),
      transforms: draft.formulas.map(({ formula, outputs }, index) => ({
        index,
        formula,
        outputs: outputInputs(outputs),
      })),
      rows: draft.rows,
      dataset: draft.dataset,
      extraColumns: draft.extraColumns,
      timestamps: draft.timestamps,
    },
  };
}

/** The fields of both inputs of a calculation. */
export function calculationContent(draft: Draft) {
  const [only = NEW_FORMULA] = draft.formulas;
  return {
    ...commonContent(draft),
    summary: draft.summary || null,
    formula: only.formula,
    parameters: parameterInputs(draft.parameters),
    outputs: outputInputs(only.outputs),
  };
}

/** An input as the API takes it: by its id if it is known, else by the name that was typed. */
function metricInput({ kind, id, name, output }: DraftInput): MetricInput {
  const source = id ?? name.trim();
  return kind === "metric" ? { metric: source } : { pipeline: source, output };
}

/** What a metric is made of, as the API takes it; null if it stays as it is. */
export function metricInputs({ inputs }: Draft): MetricInput[] | null {
  return inputs?.map(metricInput) ?? null;
}

/** The fields of both inputs of a metric, without what it is made of. */
export function metricContent(draft: Draft) {
  return {
    ...commonContent(draft),
    unit: draft.unit || null,
    function: draft.measure,
  };
}

/** The columns of a dataset, as the API takes them. */
export function columnInputs({ columns }: Draft): DatasetColumnInput[] {
  return columns.map(({ name, description, type }) => ({
    name,
    description: description || null,
    type,
  }));
}

/** What the API says is wrong with a field; undefined if nothing is. */
export function messageAbout(problems: readonly FieldProblem[], name: string): string | undefined {
  return problems.find(({ path }) => path.at(-1) === name)?.message;
}

/** A draft, and what it was when it was read. */
export interface Edit {
  readonly base: Draft;
  readonly draft: Draft;
}

/** Drafts that are not saved survive a reload, in this tab. */
export function keepEdit(key: string, edit: Edit | null): void {
  if (edit) sessionStorage.setItem(`penstock:draft:${key}`, JSON.stringify(edit));
  else sessionStorage.removeItem(`penstock:draft:${key}`);
}

export function readKeptEdit(key: string): Edit | null {
  return JSON.parse(sessionStorage.getItem(`penstock:draft:${key}`) ?? "null") as Edit | null;
}
