import { useEffect, useRef, type SubmitEvent } from "react";
import { useAnswer } from "../../app/queries";
import { OutputRowExplanation } from "../../graphql/generated/execution";
import { useAddress } from "../../parts/address";
import { ExplainedRow } from "../../parts/ExplainedRow";
import { Field } from "../../parts/fields";
import { readForm } from "../../parts/forms";
import { Answered } from "../../parts/state";

interface WhyRowProps {
  execution: string;
  rows: number;
  /** The outputs that are timestamps. */
  times: ReadonlySet<string>;
}

/** Why a row of the output is what it is; the address names the row. */
export function WhyRow({ execution, rows, times }: WhyRowProps) {
  const { search, change } = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  const row = search.get("row");
  useEffect(() => {
    if (row) heading.current?.focus();
  }, [row]);
  const submit = (event: SubmitEvent<HTMLFormElement>) =>
    change({ row: readForm(event)["row"] ?? null });
  return (
    <section className="card stack" aria-label="Why">
      <h2 ref={heading} tabIndex={-1}>
        Why a row is what it is
      </h2>
      <form className="row" onSubmit={submit}>
        <Field label={`Row of the output, 1 to ${rows}`}>
          <input
            key={row}
            name="row"
            type="number"
            min={1}
            max={rows}
            defaultValue={row ?? ""}
            required
          />
        </Field>
        <button type="submit" className="button">
          Show why
        </button>
      </form>
      {row ? <Explained execution={execution} row={Number(row)} times={times} /> : null}
    </section>
  );
}

function Explained({ execution, row, times }: Omit<WhyRowProps, "rows"> & { row: number }) {
  const query = useAnswer(OutputRowExplanation, { id: execution, row });
  return (
    <Answered query={query} what={`row ${row}`}>
      {(data) =>
        data.execution ? (
          <ExplainedRow explanation={data.execution.explanation} times={times} />
        ) : null
      }
    </Answered>
  );
}
