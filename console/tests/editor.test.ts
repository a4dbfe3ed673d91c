import { expect, test } from "vitest";
import { applyChoice, functionChoices, typedWord } from "../screens/editor/completion";
import { compareDrafts, newDraft, NEW_FORMULA, pipelineContent } from "../screens/editor/draft";

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

test("drafts are compared field by field, theirs before mine", () => {
  const theirs = { ...newDraft("/usa"), description: "theirs" };
  const mine = { ...newDraft("/usa"), formulas: [{ ...NEW_FORMULA, formula: "1" }] };
  expect(compareDrafts(theirs, mine)).toEqual([
    { op: "REPLACE", path: "description", before: "theirs", after: "" },
    { op: "REPLACE", path: "formulas", before: theirs.formulas, after: mine.formulas },
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
