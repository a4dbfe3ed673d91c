import { SIGNATURES } from "./functions";

/** What is being typed before the caret: where it begins, its kind, and its letters so far. */
export interface TypedWord {
  readonly kind: "parameter" | "calculation" | "function" | "dataset";
  readonly start: number;
  readonly letters: string;
}

export interface Choice {
  readonly insert: string;
  readonly words: string;
}

const WORD = /(?<mark>[:#'])?(?<letters>[\p{L}\p{N}_]*)$/u;

/** Find the word that ends at the caret; null where nothing can be completed. */
export function typedWord(formula: string, caret: number): TypedWord | null {
  const before = formula.slice(0, caret);
  const found = WORD.exec(before);
  const letters = found?.groups?.["letters"] ?? "";
  const mark = found?.groups?.["mark"];
  const start = caret - letters.length;
  if (mark === ":") return { kind: "parameter", start, letters };
  if (mark === "#") return { kind: "calculation", start, letters };
  const isWithinText = (before.match(/(?<!\\)'/g)?.length ?? 0) % 2 === 1;
  if (isWithinText) return mark === "'" ? { kind: "dataset", start, letters } : null;
  return letters === "" ? null : { kind: "function", start, letters };
}

/** The functions whose names begin with the letters, whatever their case. */
export function functionChoices(letters: string): Choice[] {
  const begin = letters.toUpperCase();
  return SIGNATURES.filter((one) => one.startsWith(begin)).map((signature) => ({
    insert: `${signature.slice(0, signature.indexOf("("))}(`,
    words: signature,
  }));
}

/** The formula with a choice in place of the word, and where the caret is then. */
export function applyChoice(formula: string, caret: number, word: TypedWord, choice: Choice) {
  const before = formula.slice(0, word.start) + choice.insert;
  return { formula: before + formula.slice(caret), caret: before.length };
}
