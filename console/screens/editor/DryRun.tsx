import { useState } from "react";
import type { Api } from "../../app/api";
import { failureOf, payloadOf } from "../../app/failure";
import { useServices } from "../../app/queries";
import { Evaluate } from "../../graphql/generated/calculation";
import { DryRunPipeline } from "../../graphql/generated/editor";
import type { EvaluateQuery } from "../../graphql/generated/types";
import { Field } from "../../parts/fields";
import { parametersOf } from "../../parts/formulas";
import { RowsTable } from "../../parts/RowsTable";
import { Problem } from "../../parts/state";
import { ExplanationTree } from "../../parts/ExplanationTree";
import { useTurns } from "../../parts/turns";
import {
  type Draft,
  type DraftFormula,
  type EditedKind,
  isTimestamp,
  outputInputs,
  parameterInputs,
  pipelineContent,
} from "./draft";

type Evaluated = Extract<EvaluateQuery["evaluate"], { __typename: "EvaluatePayload" }>;
type Row = Readonly<Record<string, string | null>>;

const ROWS = 5;

interface Result {
  rows: readonly unknown[];
  problems: readonly { row: number; column?: string | null; code: string; message: string }[];
}

interface Explained {
  column: string;
  explanation: NonNullable<Evaluated["explanation"]>;
}

/** Evaluate one formula for rows, and explain one of them. */
async function evaluateFormula(
  api: Api,
  draft: Draft,
  { formula, outputs }: DraftFormula,
  rows: readonly Row[],
  row: number,
): Promise<Evaluated> {
  // A formula of a pipeline uses some of its parameters; a calculation uses all of them.
  const used = parametersOf(formula);
  const parameters = draft.parameters.filter(({ key }) => used.includes(key));
  const input = {
    draft: {
      formula,
      parameters: parameterInputs(parameters),
      outputs: outputInputs(outputs),
    },
    group: draft.group,
    rows: rows.map((typed) => Object.fromEntries(parameters.map(({ key }) => [key, typed[key]]))),
  };
  return payloadOf((await api.run(Evaluate, { input, row })).evaluate);
}

const columnOf = ({ outputs: [output] }: DraftFormula) => output?.key || output?.label || "result";

async function runPipeline(api: Api, draft: Draft, rows: readonly Row[]): Promise<Result> {
  const { transformer } = pipelineContent(draft);
  const input = { draft: transformer, group: draft.group, rows: [...rows] };
  const { evaluatePipeline } = await api.run(DryRunPipeline, { input });
  return payloadOf(evaluatePipeline).results;
}

async function runCalculation(api: Api, draft: Draft, rows: readonly Row[]): Promise<Result> {
  const [formula] = draft.formulas;
  if (!formula) return { rows: [], problems: [] };
  const { values, errors } = await evaluateFormula(api, draft, formula, rows, 0);
  const failed = new Set(errors.map(({ row }) => row));
  return {
    rows: values.flatMap((value, index) =>
      failed.has(index) ? [] : [{ [columnOf(formula)]: value.text }],
    ),
    problems: errors.map((error) => ({ ...error, row: error.row + 1 })),
  };
}

/** How each formula comes to its value for a row; one that reads earlier outputs is left out. */
async function explainRow(api: Api, draft: Draft, row: Row): Promise<Explained[]> {
  const alone = draft.formulas.filter(({ formula }) => !/\bREF\s*\(/i.test(formula));
  const found = await Promise.all(
    alone.map(async (formula) => {
      const { explanation } = await evaluateFormula(api, draft, formula, [row], 0);
      return explanation ? [{ column: columnOf(formula), explanation }] : [];
    }),
  );
  return found.flat();
}

/** The draft over up to five rows; nothing is stored. */
export function DryRun({ kind, draft }: { kind: EditedKind; draft: Draft }) {
  const { api } = useServices();
  const [rows, setRows] = useState<readonly Row[]>([{}]);
  const [result, setResult] = useState<Result | null>(null);
  const [explained, setExplained] = useState<readonly Explained[]>([]);
  const [error, setError] = useState<unknown>(null);
  const parameters = draft.parameters.filter(({ key }) => key !== "");
  const given = rows.map((row) =>
    Object.fromEntries(parameters.map(({ key }) => [key, row[key] || null])),
  );

  const beginRun = useTurns();
  const beginExplaining = useTurns();
  const attempt = async <Found,>(
    isLast: () => boolean,
    work: Promise<Found>,
    show: (found: Found) => void,
  ) => {
    try {
      const found = await work;
      if (!isLast()) return;
      show(found);
      setError(null);
    } catch (failure) {
      if (isLast()) setError(failureOf(failure));
    }
  };
  const run = () => {
    setResult(null);
    beginExplaining(); // what is explained now is of the run before
    setExplained([]);
    const evaluate = kind === "pipeline" ? runPipeline : runCalculation;
    void attempt(beginRun(), evaluate(api, draft, given), setResult);
  };
  const explain = (row: Row) =>
    void attempt(beginExplaining(), explainRow(api, draft, row), setExplained);

  return (
    <section className="card stack" aria-label="Dry run">
      <h2>Dry run</h2>
      {rows.map((row, index) => (
        <div key={index} className="row">
          {parameters.map(({ key, label }) => (
            <Field key={key} label={`${label || key}, row ${index + 1}`} className="grow">
              <input
                value={row[key] ?? ""}
                onChange={(event) => {
                  const changed = { ...row, [key]: event.target.value };
                  setRows(rows.map((one, at) => (at === index ? changed : one)));
                }}
              />
            </Field>
          ))}
          <button type="button" className="button" onClick={() => explain(given[index] ?? {})}>
            Explain row {index + 1}
          </button>
        </div>
      ))}
      <div className="row">
        {rows.length < ROWS ? (
          <button type="button" className="button" onClick={() => setRows([...rows, {}])}>
            Another row
          </button>
        ) : null}
        <button type="button" className="button" onClick={run}>
          Evaluate without saving
        </button>
      </div>
      {error ? <Problem error={error} /> : null}
      {result ? <Results result={result} times={timesOf(draft)} /> : null}
      {explained.map(({ column, explanation }) => (
        <div key={column}>
          <h3>{column}</h3>
          <ExplanationTree parts={explanation.parts} />
        </div>
      ))}
    </section>
  );
}

/** The headings of the outputs that are timestamps. */
function timesOf({ formulas }: Draft): ReadonlySet<string> {
  return new Set(
    formulas.filter(({ outputs: [output] }) => output && isTimestamp(output)).map(columnOf),
  );
}

function Results({ result, times }: { result: Result; times: ReadonlySet<string> }) {
  return (
    <div className="stack tight" aria-live="polite">
      <RowsTable rows={result.rows} times={times} />
      {result.problems.length > 0 ? (
        <ul>
          {result.problems.map(({ row, column, code, message }) => (
            <li key={`${row} ${column ?? ""} ${code}`}>
              Row {row}
              {column ? `, ${column}` : ""}: {message} <code className="muted">{code}</code>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
