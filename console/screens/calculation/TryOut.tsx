import { useState, type SubmitEvent } from "react";
import { failureOf, payloadOf } from "../../app/failure";
import { useServices } from "../../app/queries";
import { Evaluate } from "../../graphql/generated/calculation";
import type { EvaluateInput, EvaluateQuery } from "../../graphql/generated/types";
import { readForm } from "../../parts/forms";
import { Field } from "../../parts/fields";
import { Problem } from "../../parts/state";
import { ExplanationTree } from "../../parts/ExplanationTree";
import { useTurns } from "../../parts/turns";

type Evaluated = Extract<EvaluateQuery["evaluate"], { __typename: "EvaluatePayload" }>;

interface TryOutProps {
  input: Omit<EvaluateInput, "rows">;
  parameters: readonly { key: string; label?: string | null; type: string; required: boolean }[];
}

/** A form for one row of values: it shows the result and how it comes about. */
export function TryOut({ input, parameters }: TryOutProps) {
  const { api } = useServices();
  const [answer, setAnswer] = useState<Evaluated | null>(null);
  const [error, setError] = useState<unknown>(null);
  const beginTurn = useTurns();
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    const typed = readForm(event);
    const row = Object.fromEntries(parameters.map(({ key }) => [key, typed[key] || null]));
    const isLast = beginTurn();
    try {
      const variables = { input: { ...input, rows: [row] }, row: 0 };
      const found = payloadOf((await api.run(Evaluate, variables)).evaluate);
      if (!isLast()) return;
      setAnswer(found);
      setError(null);
    } catch (failure) {
      if (isLast()) setError(failureOf(failure));
    }
  };
  const problem = answer?.errors[0];
  return (
    <section className="card stack" aria-label="Try it out">
      <h2>Try it out</h2>
      <form className="row" onSubmit={(event) => void submit(event)}>
        {parameters.map(({ key, label, required }) => (
          <Field key={key} label={label ?? key} className="grow">
            <input name={key} required={required} />
          </Field>
        ))}
        <button type="submit" className="button primary">
          Evaluate
        </button>
      </form>
      {error ? <Problem error={error} /> : null}
      {answer ? (
        <div className="stack tight" aria-live="polite">
          {problem ? (
            <p className="note note-warn">
              {problem.message} <code>{problem.code}</code>
            </p>
          ) : (
            <dl className="figures">
              <div>
                <dt>Result</dt>
                <dd>{answer.values[0]?.text ?? "null"}</dd>
              </div>
            </dl>
          )}
          {answer.datasets.length > 0 ? (
            <p className="small muted">
              With{" "}
              {answer.datasets.map(({ name, version }) => `${name}, version ${version}`).join("; ")}
            </p>
          ) : null}
          {answer.explanation ? <ExplanationTree parts={answer.explanation.parts} /> : null}
        </div>
      ) : null}
    </section>
  );
}
