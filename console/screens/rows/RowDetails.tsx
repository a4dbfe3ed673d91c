import { useState, type SubmitEvent } from "react";
import { Link } from "wouter";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction, useAnswer } from "../../app/queries";
import { RowExplanation, RowHistory, WithdrawRow } from "../../graphql/generated/rows";
import type { KeptRowsQuery } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { pathOf } from "../../parts/address";
import { OfRole } from "../../parts/denial";
import { ExplainedRow } from "../../parts/ExplainedRow";
import { Field } from "../../parts/fields";
import { useFocusAtFirst } from "../../parts/focus";
import { readForm } from "../../parts/forms";
import { TagPills, Time } from "../../parts/marks";
import { Answered, Problem } from "../../parts/state";
import { UsedVersions } from "../../parts/UsedVersions";
import { textOf, type RowOutput } from "./rowOutputs";

export type ShownRow = NonNullable<KeptRowsQuery["pipeline"]>["rows"]["nodes"][number];

interface RowDetailsProps {
  pipeline: string;
  row: ShownRow;
  outputs: readonly RowOutput[];
  onWithdrawn: () => void;
}

/** Why a row has its values, what it was before, and how to withdraw it. */
export function RowDetails({ pipeline, row, outputs, onWithdrawn }: RowDetailsProps) {
  return (
    <div className="halves">
      <Explained id={row.id} outputs={outputs} />
      <div className="stack">
        <History id={row.id} outputs={outputs} />
        <OfRole role="CONTRIBUTOR" at={row.group}>
          <Withdraw pipeline={pipeline} row={row} onWithdrawn={onWithdrawn} />
        </OfRole>
      </div>
    </div>
  );
}

function Explained({ id, outputs }: Pick<RowDetailsProps, "outputs"> & { id: string }) {
  const query = useAnswer(RowExplanation, { id });
  const names = new Map(outputs.map(({ key, label }) => [key, label]));
  const times = new Set(outputs.flatMap(({ key, type }) => (type === "TIMESTAMP" ? [key] : [])));
  return (
    <section className="stack tight" aria-label="Explanation">
      <Answered query={query} what="the explanation">
        {({ node }) => {
          if (!node || !("explanation" in node)) return <p className="muted">It is gone.</p>;
          return (
            <>
              <ExplainedRow explanation={node.explanation} names={names} times={times} />
              <UsedVersions pins={node.execution.pins} heading="h3" />
            </>
          );
        }}
      </Answered>
    </section>
  );
}

function History({ id, outputs }: Pick<RowDetailsProps, "outputs"> & { id: string }) {
  const query = useAnswer(RowHistory, { id });
  return (
    <section className="stack tight" aria-label="History of the row">
      <h3>History</h3>
      <Answered query={query} what="the history">
        {({ node }) => (
          <ol className="cards">
            {(node && "history" in node ? node.history.nodes : []).map((version) => (
              <li key={version.at} className="card">
                <Time at={version.at} />{" "}
                <Link href={pathOf("executions", version.execution.id)}>
                  {version.withdrawn ? "withdrawn" : `by ${version.execution.createdBy}`}
                </Link>
                {version.reason ? <p>{version.reason}</p> : null}
                <TagPills tags={version.execution.tags} />
                <p className="small muted">
                  {outputs
                    .map((output) => `${output.label} ${textOf(version.values, output)}`)
                    .join(", ")}
                </p>
              </li>
            ))}
          </ol>
        )}
      </Answered>
    </section>
  );
}

function Withdraw({
  pipeline,
  row,
  onWithdrawn,
}: Pick<RowDetailsProps, "pipeline" | "row" | "onWithdrawn">) {
  const [isAsked, setAsked] = useState(false);
  const withdraw = useAction(
    WithdrawRow,
    (data) => payloadOf(data.withdrawRows),
    () => {
      onWithdrawn();
      announce("The row is withdrawn.");
    },
  );
  const reason = useFocusAtFirst<HTMLInputElement>(isAsked);
  if (!isAsked) {
    return (
      <p>
        <button type="button" className="button" onClick={() => setAsked(true)}>
          Withdraw this row
        </button>
      </p>
    );
  }
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const reason = readForm(event)["reason"] ?? "";
    const input = { pipelineId: pipeline, keys: [row.key], reason };
    withdraw.mutate({ input });
  };
  return (
    <form className="stack tight" onSubmit={submit}>
      <Field label="Why it is withdrawn">
        <input name="reason" ref={reason} required maxLength={1000} />
      </Field>
      {withdraw.error ? <Problem error={withdraw.error} /> : null}
      <p className="row">
        <ActionButton tone="danger" isBusy={withdraw.isPending}>
          Withdraw
        </ActionButton>
        <button type="button" className="button" onClick={() => setAsked(false)}>
          Keep it
        </button>
      </p>
    </form>
  );
}
