import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { PinnedTransforms } from "../../graphql/generated/execution";
import type { ExecutionFactsFragment } from "../../graphql/generated/types";
import { pathOf } from "../../parts/address";
import { FormulaCode } from "../../parts/Formula";
import { useFocusAtFirst } from "../../parts/focus";
import { parametersOf } from "../../parts/formulas";
import { Digits, REJECTED } from "../../parts/marks";
import { Answered } from "../../parts/state";
import { MOST_REJECTED, useRejectedRows } from "./rejectedFile";

type Reasons = NonNullable<ExecutionFactsFragment["rejections"]>;

interface RejectedRowsProps {
  url: string;
  reasons: Reasons;
  pipeline: string;
  version: number;
  /** When the execution was created: the pipeline is shown as it was then. */
  at: string;
}

/** The reasons of rejected rows, and the first rows, each with the formula that rejected it. */
export function RejectedRows({ url, reasons, pipeline, version, at }: RejectedRowsProps) {
  const query = useRejectedRows(url);
  const { data } = useAnswer(PinnedTransforms, { id: pipeline, version });
  const transforms = data?.pipeline?.versionNumbered?.transformer.transforms ?? [];
  // A row is rejected in an output, or in a parameter that a formula reads.
  const transformOf = (column: string) =>
    transforms.find(({ index, outputs }) =>
      [`output ${index}`, ...outputs.map(({ key }) => key)].includes(column),
    ) ?? transforms.find(({ formula }) => parametersOf(formula).includes(column));
  const placeOf = (transform: number) =>
    `${pathOf("pipelines", pipeline)}?${new URLSearchParams({ at, transform: String(transform) }).toString()}`;
  const linkOf = (column: string) => {
    const transform = transformOf(column);
    return transform ? (
      <Link href={placeOf(transform.index)}>
        <FormulaCode formula={transform.formula} />
      </Link>
    ) : (
      <span className="muted">–</span>
    );
  };
  const heading = useFocusAtFirst<HTMLHeadingElement>(location.hash === `#${REJECTED}`);
  return (
    <section className="stack tight" aria-label="Rejected rows">
      <h2 ref={heading} id={REJECTED} tabIndex={-1}>
        Rejected rows
      </h2>
      {reasons.length > 0 ? <ReasonTable reasons={reasons} linkOf={linkOf} /> : null}
      <p className="small muted">
        Numbers count the rows of the input, from 1 and without its header. The file of rejected
        rows has all; the first {MOST_REJECTED} problems are below.
      </p>
      <Answered query={query} what="rejected rows">
        {(rows) => (
          <ProblemTable label="First rejected rows" counted="Input row">
            {rows.map(([row = "", column = "", code = "", message = ""], index) => (
              <tr key={index}>
                <td className="number">{row}</td>
                <td>{column}</td>
                <td>
                  {message} <code className="muted">{code}</code>
                </td>
                <td>{linkOf(column)}</td>
              </tr>
            ))}
          </ProblemTable>
        )}
      </Answered>
    </section>
  );
}

interface ReasonTableProps {
  reasons: Reasons;
  linkOf: (column: string) => ReactNode;
}

/** The numbers of rejected rows by reason, the commonest first. */
function ReasonTable({ reasons, linkOf }: ReasonTableProps) {
  return (
    <ProblemTable label="Reasons of rejected rows" counted="Rows">
      {reasons.map(({ code, column, rows }) => (
        <tr key={`${code} ${column ?? ""}`}>
          <td className="number">
            <Digits value={rows} />
          </td>
          <td>{column}</td>
          <td>
            <code>{code}</code>
          </td>
          <td>{linkOf(column ?? "")}</td>
        </tr>
      ))}
    </ProblemTable>
  );
}

interface ProblemTableProps {
  label: string;
  /** What the number in front of each problem is. */
  counted: string;
  children: ReactNode;
}

/** A table of problems: a number, the column, why, and the formula that rejects. */
function ProblemTable({ label, counted, children }: ProblemTableProps) {
  return (
    <div className="card flush scroller" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col" className="number">
              {counted}
            </th>
            <th scope="col">Column</th>
            <th scope="col">Why</th>
            <th scope="col">Formula</th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
