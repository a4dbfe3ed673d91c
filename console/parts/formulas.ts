/** What a formula calls: calculations as `#name(`, datasets as the texts that IMPACT and LOOKUP read. */
export interface Calls {
  readonly calculations: readonly string[];
  readonly datasets: readonly string[];
}

export interface FormulaPiece {
  readonly kind: "text" | "quoted" | "parameter" | "calculation" | "function";
  readonly text: string;
}

const PIECE = new RegExp(
  [
    "(?<quoted>'(?:[^'\\\\\\n]|\\\\.)*'?)",
    "(?<calculation>#[\\p{L}_][\\p{L}\\p{N}_]*)",
    "(?<parameter>:[\\p{L}\\p{N}_][\\p{L}\\p{N}_:#]*(?: +[\\p{L}\\p{N}_:#]+)*)",
    "(?<function>[A-Za-z_]+(?=\\s*\\())",
  ].join("|"),
  "gu",
);

/** Cut a formula into pieces, which joined are the formula again. */
export function cutFormula(formula: string): FormulaPiece[] {
  const pieces: FormulaPiece[] = [];
  let end = 0;
  for (const found of formula.matchAll(PIECE)) {
    if (found.index > end) pieces.push({ kind: "text", text: formula.slice(end, found.index) });
    const named = Object.entries<string | undefined>(found.groups ?? {}).find(
      ([, text]) => text !== undefined,
    );
    pieces.push({ kind: (named?.[0] ?? "text") as FormulaPiece["kind"], text: found[0] });
    end = found.index + found[0].length;
  }
  if (end < formula.length) pieces.push({ kind: "text", text: formula.slice(end) });
  return pieces;
}

/** The names of the parameters that a formula reads. */
export function parametersOf(formula: string): string[] {
  return cutFormula(formula)
    .filter(({ kind }) => kind === "parameter")
    .map(({ text }) => text.slice(1));
}

/** The names that a formula calls, each once. */
export function callsOf(formulas: readonly string[]): Calls {
  const calculations = new Set<string>();
  const datasets = new Set<string>();
  for (const formula of formulas) {
    const pieces = cutFormula(formula);
    pieces.forEach((piece, index) => {
      if (piece.kind === "calculation") calculations.add(piece.text.slice(1));
      const name = piece.kind === "function" ? piece.text.toUpperCase() : "";
      if (name === "IMPACT") addText(datasets, pieces, index, 0);
      if (name === "LOOKUP") addText(datasets, pieces, index, isShortLookup(pieces, index) ? 0 : 1);
    });
  }
  return { calculations: [...calculations].sort(), datasets: [...datasets].sort() };
}

/** The patterns of the times that formulas read from parameters, by the parameters. */
export function timePatterns(formulas: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const pieces of formulas.map(cutFormula)) {
    pieces.forEach((piece, index) => {
      if (piece.kind !== "function" || piece.text.toUpperCase() !== "AS_TIMESTAMP") return;
      const [[parameter, ...more] = [], [pattern] = []] = argumentsAt(pieces, index);
      if (parameter?.kind !== "parameter" || more.length > 0 || pattern?.kind !== "quoted") return;
      const key = parameter.text.slice(1);
      const known = found.get(key) ?? [];
      found.set(key, [...new Set([...known, textOf(pattern)])]);
    });
  }
  return found;
}

const textOf = ({ text }: FormulaPiece) => text.slice(1, -1).replace(/\\(['\\])/g, "$1");

/** The arguments of the call at an index, each as its pieces. */
function argumentsAt(pieces: readonly FormulaPiece[], index: number): FormulaPiece[][] {
  const found: FormulaPiece[][] = [[]];
  let depth = 0;
  for (const piece of pieces.slice(index + 1)) {
    const letters = piece.kind === "text" ? Array.from(piece.text) : [piece.text];
    for (const text of letters) {
      if (piece.kind === "text" && text === "(") depth += 1;
      else if (piece.kind === "text" && text === ")") {
        depth -= 1;
        if (depth === 0) return found;
      } else if (piece.kind === "text" && text === "," && depth === 1) found.push([]);
      else if (text.trim()) found.at(-1)?.push({ ...piece, text });
    }
  }
  return found;
}

function isShortLookup(pieces: readonly FormulaPiece[], index: number): boolean {
  const positional = argumentsAt(pieces, index).filter(
    (argument) => !argument.some(({ kind, text }) => kind === "text" && text === "="),
  );
  return positional.length === 2;
}

function addText(
  names: Set<string>,
  pieces: readonly FormulaPiece[],
  index: number,
  place: number,
): void {
  const argument = argumentsAt(pieces, index)[place] ?? [];
  const [only] = argument;
  if (argument.length === 1 && only?.kind === "quoted") {
    names.add(textOf(only));
  }
}
