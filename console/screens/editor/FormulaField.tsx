import { type KeyboardEvent, useId, useLayoutEffect, useRef, useState } from "react";
import { useAnswer } from "../../app/queries";
import type { FieldProblem } from "../../app/failure";
import { CompleteCalculation, CompleteDataset } from "../../graphql/generated/editor";
import { applyChoice, type Choice, functionChoices, type TypedWord, typedWord } from "./completion";

interface FormulaFieldProps {
  label: string;
  formula: string;
  group: string;
  parameters: readonly { key: string; label: string }[];
  problems: readonly FieldProblem[];
  onChange: (formula: string) => void;
}

/** A field for a formula: it completes names, and shows where the server found a problem. */
export function FormulaField(props: FormulaFieldProps) {
  const { label, formula, group, parameters, problems, onChange } = props;
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const nextCaret = useRef<number | null>(null);
  const [word, setWord] = useState<TypedWord | null>(null);
  const [active, setActive] = useState(0);
  const choices = useChoices(word, group, parameters);
  const isOpen = word !== null && choices.length > 0;
  useLayoutEffect(() => {
    if (nextCaret.current === null) return;
    field.current?.setSelectionRange(nextCaret.current, nextCaret.current);
    nextCaret.current = null;
  }, [formula]);
  const look = () => {
    const caret = field.current?.selectionStart ?? 0;
    setWord(typedWord(field.current?.value ?? "", caret));
    setActive(0);
  };
  const take = (choice: Choice) => {
    if (word === null) return;
    const done = applyChoice(
      formula,
      field.current?.selectionStart ?? formula.length,
      word,
      choice,
    );
    nextCaret.current = done.caret;
    onChange(done.formula);
    setWord(null);
    field.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (!isOpen) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = choices[active];
    if (step) setActive((active + step + choices.length) % choices.length);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen) take(chosen);
    else if (event.key === "Escape") setWord(null);
    else return;
    event.preventDefault();
  };
  return (
    <div className="field completing">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        ref={field}
        className="mono"
        rows={Math.min(10, formula.split("\n").length + 1)}
        spellCheck={false}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={isOpen ? `${id}-list` : undefined}
        aria-activedescendant={isOpen ? `${id}-${active}` : undefined}
        aria-invalid={problems.length > 0}
        aria-describedby={`${id}-problems`}
        value={formula}
        onChange={(event) => {
          onChange(event.target.value);
          look();
        }}
        onKeyDown={press}
        onBlur={() => setWord(null)}
      />
      {isOpen ? (
        <ul className="choices" role="listbox" id={`${id}-list`} aria-label="Completions">
          {choices.map((choice, index) => (
            <li
              key={choice.words}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              onPointerDown={(event) => {
                event.preventDefault();
                take(choice);
              }}
            >
              <code>{choice.words}</code>
            </li>
          ))}
        </ul>
      ) : null}
      <div id={`${id}-problems`}>
        {problems.map((problem, index) => (
          <div key={index} className="wrong">
            {problem.message}
            {problem.line
              ? ` (line ${problem.line}, column ${problem.column ?? 1} of the formula)`
              : ""}
            {problem.excerpt ? <pre>{problem.excerpt}</pre> : null}
          </div>
        ))}
      </div>
    </div>
  );
}

function useChoices(
  word: TypedWord | null,
  group: string,
  parameters: readonly { key: string; label: string }[],
): Choice[] {
  const prefix = word?.letters ?? "";
  const calculations = useAnswer(
    CompleteCalculation,
    { prefix, group },
    { enabled: word?.kind === "calculation" && prefix !== "", keep: true },
  );
  const datasets = useAnswer(
    CompleteDataset,
    { prefix, group },
    { enabled: word?.kind === "dataset" && prefix !== "", keep: true },
  );
  switch (word?.kind) {
    case "parameter":
      return parameters
        .filter(({ key }) => key !== "" && key !== prefix && key.startsWith(prefix))
        .map(({ key, label }) => ({ insert: key, words: label ? `${key} (${label})` : key }));
    case "calculation":
      return (calculations.data?.calculations.nodes ?? []).map(({ name, parameters: taken }) => ({
        insert: `${name}(`,
        words: `${name}(${taken.map(({ key }) => key).join(", ")})`,
      }));
    case "dataset":
      return (datasets.data?.referenceDatasets.nodes ?? []).map(({ name }) => ({
        insert: `${name}'`,
        words: name,
      }));
    case "function":
      return functionChoices(prefix);
    default:
      return [];
  }
}
