import { Fragment } from "react";
import { Link } from "wouter";
import { useAnswer } from "../app/queries";
import { FindCalculation, FindDataset } from "../graphql/generated/parts";
import { pathOf } from "./address";
import { cutFormula } from "./formulas";

/** A formula, with links to the calculations that it calls. */
export function Formula({ formula, group }: { formula: string; group: string }) {
  return (
    <pre className="formula">
      <FormulaCode formula={formula} group={group} />
    </pre>
  );
}

/** The words of a formula, which stay whole where they fit: a line ends before one. */
export function FormulaCode({ formula, group }: { formula: string; group?: string }) {
  return (
    <code>
      {cutFormula(formula).map(({ kind, text }, index) => (
        <Fragment key={index}>
          {kind === "text" ? null : <wbr />}
          {kind === "calculation" && group !== undefined ? (
            <CalculationLink name={text.slice(1)} group={group} words={text} />
          ) : (
            text
          )}
        </Fragment>
      ))}
    </code>
  );
}

interface NameProps {
  name: string;
  group: string;
  words?: string;
}

/** The name of a calculation as a group's formulas find it; a link if the caller sees it. */
export function CalculationLink({ name, group, words = name }: NameProps) {
  const { data } = useAnswer(FindCalculation, { name, group });
  const found = data?.calculationByName;
  return found ? <Link href={pathOf("calculations", found.id)}>{words}</Link> : words;
}

export function DatasetLink({ name, group }: NameProps) {
  const { data } = useAnswer(FindDataset, { name, group });
  const found = data?.referenceDatasetByName;
  return found ? <Link href={pathOf("datasets", found.id)}>{name}</Link> : name;
}
