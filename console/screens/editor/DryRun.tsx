import { useState } from "react";
import { failureOf, payloadOf } from "../../app/failure";
import { useServices } from "../../app/queries";
import { Evaluate } from "../../graphql/generated/calculation";
import type { EvaluateQuery } from "../../graphql/generated/types";
import { Field } from "../../parts/fields";
import { Problem } from "../../parts/state";
import { ExplanationTree } from "../calculation/ExplanationTree";
import { type Draft, type DraftFormula, outputInputs, parameterInputs } from "./draft";

type Evaluated = Extract<EvaluateQuery["evaluate"], { __typename: "EvaluatePayload" }>;
type TypedRow = Readonly<Record<string, string>>;

const ROWS = 5;

interface Answer {
  column: string;
  answer: Evaluated;
}

/** The draft's formulas over up to five rows; nothing is stored. */
export function DryRun({ draft }: { draft: Draft }) {
  const { api } = useServices();
  const [rows, setRows] = useState<readonly TypedRow[]>([{}]);
  const [explained, setExplained] = useState(0);
  const [answers, setAnswers] = useState<readonly Answer[]>([]);
  const [error, setError] = useState<unknown>(null);
  const parameters = draft.parameters.filter(({ key }) => key !== "");

  const evaluate = async (formula: DraftFormula, row: number): Promise<Answer> => {
    const input = {
      draft: {
        formula: formula.formula,
        parameters: parameterInputs(draft.parameters),
        outputs: outputInputs(formula.outputs),
      },
      group: draft.group,
      rows: rows.map((typed) =>
        Object.fromEntries(parameters.map(({ key }) => [key, typed[key] || null])),
      ),
    };
    const { evaluate: result } = await api.run(Evaluate, { input, row });
    const [output] = formula.outputs;
    return { column: output?.key || output?.label || "result", answer: payloadOf(result) };
  };
  const run = async (row: number) => {
    setExplained(row);
    try {
      setAnswers(await Promise.all(draft.formulas.map((formula) => evaluate(formula, row))));
      setError(null);
    } catch (failure) {
      setAnswers([]);
      setError(failureOf(failure));
    }
  };
  return (
    <section className="card stack" aria-label="Dry run">
      <h2>Dry run</h2>
      {rows.map((row, index) => (
        <div key={index} className="row">
          {parameters.map(({ key, label }) => (
            <Field key={key} label={`${label || key}, row ${index + 1}`} className="grow">
              <input
                value={row[key] ?? ""}
                onChange={(event) =>
                  setRows(
                    rows.map((one, at) =>
                      at === index ? { ...one, [key]: event.target.value } : one,
                    ),
                  )
                }
              />
            </Field>
          ))}
        </div>
      ))}
      <div className="row">
        {rows.length < ROWS ? (
          <button type="button" className="button" onClick={() => setRows([...rows, {}])}>
            Another row
          </button>
        ) : null}
        <button type="button" className="button" onClick={() => void run(explained)}>
          Evaluate without saving
        </button>
      </div>
      {error ? <Problem error={error} /> : null}
      {answers.length > 0 ? (
        <Results
          answers={answers}
          count={rows.length}
          explained={explained}
          onExplain={(row) => void run(row)}
        />
      ) : null}
    </section>
  );
}

interface ResultsProps {
  answers: readonly Answer[];
  count: number;
  explained: number;
  onExplain: (row: number) => void;
}

function Results({ answers, count, explained, onExplain }: ResultsProps) {
  const cell = ({ answer }: Answer, row: number) =>
    answer.errors.find((one) => one.row === row)?.message ?? answer.values[row]?.text ?? "null";
  return (
    <div className="stack tight" aria-live="polite">
      <div className="card flush" tabIndex={0} role="region" aria-label="Results of the dry run">
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              {answers.map(({ column }, index) => (
                <th key={index} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Array.from({ length: count }, (_, row) => (
              <tr key={row}>
                <td>
                  <button
                    type="button"
                    className="button quiet"
                    aria-pressed={row === explained}
                    onClick={() => onExplain(row)}
                  >
                    Explain row {row + 1}
                  </button>
                </td>
                {answers.map((answer, index) => (
                  <td key={index}>{cell(answer, row)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {answers.map(({ column, answer }, index) =>
        answer.explanation ? (
          <div key={index}>
            <h3>{column}</h3>
            <ExplanationTree parts={answer.explanation.parts} />
          </div>
        ) : null,
      )}
    </div>
  );
}
