import type {
  EditedCalculationQuery,
  EditedPipelineQuery,
  ExtraColumns,
  OutputInput,
  ParameterInput,
  RowsInput,
  State,
  TagInput,
  ValueType,
} from "../../graphql/generated/types";

export const KINDS = ["pipeline", "calculation"] as const;
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

/** What is edited: a pipeline has several formulas, a calculation exactly one. */
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
  readonly extraColumns: ExtraColumns;
  /** The version that was read; null for a new one. */
  readonly version: number | null;
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
    extraColumns: "REFUSE",
    version: null,
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

export function draftOfPipeline(read: NonNullable<EditedPipelineQuery["pipeline"]>): Draft {
  const { parameters, transforms, rows, extraColumns } = read.transformer;
  return {
    name: read.name,
    group: read.owner,
    description: read.description ?? "",
    summary: "",
    state: read.state,
    tags: read.tags.map(({ key, value }) => ({ key, value })),
    parameters: parameters.map((one) => ({ ...named(one), required: one.required })),
    formulas: transforms.map(({ formula, outputs }) => ({ formula, outputs: outputs.map(named) })),
    rows: rows ? { key: rows.key, time: rows.time ?? null, group: rows.group ?? null } : null,
    extraColumns,
    version: read.version,
  };
}

export function draftOfCalculation(
  read: NonNullable<EditedCalculationQuery["calculation"]>,
): Draft {
  return {
    name: read.name,
    group: read.owner,
    description: read.description ?? "",
    summary: read.summary ?? "",
    state: read.state,
    tags: read.tags.map(({ key, value }) => ({ key, value })),
    parameters: read.parameters.map((one) => ({ ...named(one), required: one.required })),
    formulas: [{ formula: read.formula, outputs: read.outputs.map(named) }],
    rows: null,
    extraColumns: "REFUSE",
    version: read.version,
  };
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

/** The fields of both inputs of a pipeline, of creation and of update. */
export function pipelineContent(draft: Draft) {
  return {
    name: draft.name,
    description: draft.description || null,
    tags: [...draft.tags],
    transformer: {
      parameters: parameterInputs(draft.parameters),
      transforms: draft.formulas.map(({ formula, outputs }, index) => ({
        index,
        formula,
        outputs: outputInputs(outputs),
      })),
      rows: draft.rows,
      extraColumns: draft.extraColumns,
    },
  };
}

/** The fields of both inputs of a calculation. */
export function calculationContent(draft: Draft) {
  const [only = NEW_FORMULA] = draft.formulas;
  return {
    name: draft.name,
    description: draft.description || null,
    summary: draft.summary || null,
    tags: [...draft.tags],
    formula: only.formula,
    parameters: parameterInputs(draft.parameters),
    outputs: outputInputs(only.outputs),
  };
}

/** The fields in which two drafts differ, side by side. */
export function compareDrafts(theirs: Draft, mine: Draft) {
  const names = [
    "name",
    "description",
    "summary",
    "state",
    "tags",
    "parameters",
    "formulas",
    "rows",
    "extraColumns",
  ] as const;
  return names
    .filter((name) => JSON.stringify(theirs[name]) !== JSON.stringify(mine[name]))
    .map((name) => ({ op: "REPLACE", path: name, before: theirs[name], after: mine[name] }));
}

/** Drafts that are not saved survive a reload, in this tab. */
export function keepDraft(key: string, draft: Draft | null): void {
  if (draft) sessionStorage.setItem(`penstock:draft:${key}`, JSON.stringify(draft));
  else sessionStorage.removeItem(`penstock:draft:${key}`);
}

export function readKeptDraft(key: string): Draft | null {
  return JSON.parse(sessionStorage.getItem(`penstock:draft:${key}`) ?? "null") as Draft | null;
}
