import { expect, test } from "vitest";
import { applyChoice, functionChoices, typedWord } from "../screens/editor/completion";
import { compareDrafts, mergeDrafts } from "../screens/editor/comparison";
import {
  draftOfMetric,
  metricContent,
  metricInputs,
  newDraft,
  NEW_FORMULA,
  NEW_INPUT,
  NEW_PARAMETER,
  draftOfPipeline,
  pipelineContent,
} from "../screens/editor/draft";

test.each([
  [":act", { kind: "parameter", start: 1, letters: "act" }],
  ["1 + #mil", { kind: "calculation", start: 5, letters: "mil" }],
  ["rou", { kind: "function", start: 0, letters: "rou" }],
  ["LOOKUP('fue", { kind: "dataset", start: 8, letters: "fue" }],
  ["LOOKUP('fuels', :", { kind: "parameter", start: 17, letters: "" }],
])("the word that is typed at the end of %s is found", (formula, word) => {
  expect(typedWord(formula, formula.length)).toEqual(word);
});

test.each(["1 + ", "'two words", ""])("nothing is completed at the end of “%s”", (formula) => {
  expect(typedWord(formula, formula.length)).toBeNull();
});

test("a choice stands in place of the word, and what follows the caret stays", () => {
  const formula = "1 + ro + 2";
  const word = typedWord(formula, 6);
  const [choice] = functionChoices("ro");
  expect(word && choice && applyChoice(formula, 6, word, choice)).toEqual({
    formula: "1 + ROUND( + 2",
    caret: 10,
  });
});

test("drafts are compared place by place, theirs before mine, and versions do not count", () => {
  const theirs = { ...newDraft("/usa"), description: "theirs", version: 2 };
  const mine = {
    ...newDraft("/usa"),
    formulas: [{ ...NEW_FORMULA, formula: "1" }],
    parameters: [NEW_PARAMETER, NEW_PARAMETER],
  };
  expect(compareDrafts(theirs, mine)).toEqual([
    { op: "REPLACE", path: "description", before: "theirs", after: "" },
    { op: "ADD", path: "parameters.2", after: NEW_PARAMETER },
    { op: "REPLACE", path: "formulas.1.formula", before: "", after: "1" },
  ]);
});

test("two that changed different things are merged, and what both changed is not", () => {
  const base = { ...newDraft("/usa"), formulas: [NEW_FORMULA, NEW_FORMULA], version: 1 };
  const withFormulas = (first: string, other: string) => ({
    ...base,
    formulas: [
      { ...NEW_FORMULA, formula: first },
      { ...NEW_FORMULA, formula: other },
    ],
  });
  const theirs = { ...withFormulas("", "2"), description: "theirs", version: 2 };
  expect(mergeDrafts(base, theirs, withFormulas("1", ""))).toEqual({
    ...withFormulas("1", "2"),
    description: "theirs",
    version: 2,
  });
  expect(mergeDrafts(base, theirs, withFormulas("", "3"))).toBeNull();
  expect(mergeDrafts(base, theirs, { ...base, formulas: [NEW_FORMULA] })).toBeNull();
  expect(mergeDrafts(base, theirs, base)).toEqual(theirs);
});

test("an input that was read is named by its id until another name is typed", () => {
  const read = { kind: "pipeline", id: "x", name: "energy", output: "kwh" } as const;
  const draft = {
    ...newDraft("/usa"),
    inputs: [read, { ...read, id: null }, { ...NEW_INPUT, kind: "metric", name: " emissions " }],
  } as const;
  expect(metricContent(draft).unit).toBeNull();
  expect(metricInputs({ ...draft, inputs: null })).toBeNull();
  expect(metricInputs(draft)).toEqual([
    { pipeline: "x", output: "kwh" },
    { pipeline: "energy", output: "kwh" },
    { metric: "emissions" },
  ]);
});

test("empty texts of a draft are null for the API, and entries are numbered", () => {
  const draft = newDraft("/usa");
  const { transformer, description } = pipelineContent({
    ...draft,
    parameters: [...draft.parameters, ...draft.parameters],
  });
  expect(description).toBeNull();
  expect(transformer.parameters.map(({ index, label }) => [index, label])).toEqual([
    [0, null],
    [1, null],
  ]);
});

const READ_PIPELINE = {
  ...{ id: "p", name: "p", description: null, state: "ENABLED" as const, owner: "/usa" },
  ...{ version: 1, tags: [], activeFrom: "2020-01-01T00:00:00Z" },
};

test.each([
  ["TIMESTAMP" as const, "EPOCH_MILLISECONDS"],
  ["NUMBER" as const, "ISO_8601"],
])(
  "a saved pipeline with an output of the type %s writes %s when it is saved again",
  (type, form) => {
    const outputs = [{ index: 0, key: "o", label: null, description: null, type }];
    const draft = draftOfPipeline({
      ...READ_PIPELINE,
      transformer: {
        parameters: [],
        transforms: [{ index: 0, formula: ":x", outputs }],
        rows: null,
        dataset: null,
        extraColumns: "REFUSE",
        timestamps: "EPOCH_MILLISECONDS",
      },
    });
    expect(pipelineContent(draft).transformer.timestamps).toBe(form);
  },
);

const READ_METRIC = {
  id: "m",
  name: "watched",
  description: null,
  state: "ENABLED" as const,
  owner: "/usa",
  version: 1,
  tags: [],
  unit: null,
  function: "SUM" as const,
  inputs: [],
};

test.each([
  ["9999-01-01T00:00:00Z", "9999-01-01T00:00:00Z"],
  ["2020-01-01T00:00:00Z", null],
])("a version after one that is active from %s begins at %s", (activeFrom, start) => {
  expect(draftOfMetric({ ...READ_METRIC, activeFrom }).activeFrom).toBe(start);
});

test("inputs that are out of sight stay as they are", () => {
  const seen = { name: "energy", output: "kwh", pipelineId: "x", metricId: null };
  const read = (inputs: (typeof seen | { [Key in keyof typeof seen]: null })[]) =>
    draftOfMetric({ ...READ_METRIC, activeFrom: "2026-01-01T00:00:00Z", inputs });
  const hidden = { name: null, output: null, pipelineId: null, metricId: null };
  expect(metricInputs(read([seen]))).toEqual([{ pipeline: "x", output: "kwh" }]);
  expect(metricInputs(read([seen, hidden]))).toBeNull();
});
