import { Pencil } from "lucide-react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { CalculationDetails } from "../../graphql/generated/calculation";
import type { CalculationDetailsQuery } from "../../graphql/generated/types";
import { pathOf, useAddress } from "../../parts/address";
import { AsAt, missingAsAt } from "../../parts/AsAt";
import { Formula } from "../../parts/Formula";
import { CopyButton, StateBadge, TagPills } from "../../parts/marks";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { UsedBy } from "../../parts/UsedBy";
import { VersionTable } from "../../parts/VersionTable";
import { TryOut } from "./TryOut";

type Shown = NonNullable<CalculationDetailsQuery["calculation"]>;

/** A calculation: its formula, its versions, and what it gives for values of the reader's. */
export default function Calculation({ id }: { id: string }) {
  const { search } = useAddress();
  const asAt = search.get("at");
  const query = useAnswer(CalculationDetails, { id, asAt }, { keep: true });
  useTitle(query.data?.calculation?.name);
  const missing = missingAsAt("calculation", asAt);
  return (
    <Answered query={query} what="the calculation" missing={missing}>
      {({ calculation }) =>
        calculation ? (
          <>
            <Head calculation={calculation} />
            <AsAt key="at" />
            <Formula formula={calculation.formula} group={calculation.owner} />
            <p className="muted">
              Gives {calculation.outputs.map(({ key, label }) => label ?? key).join(", ")}.
            </p>
            <TryOut
              input={{ id, version: calculation.version }}
              parameters={calculation.parameters}
            />
            <UsedBy id={id} />
            <Versions calculation={calculation} />
          </>
        ) : (
          missing
        )
      }
    </Answered>
  );
}

function Head({ calculation }: { calculation: Shown }) {
  const { id, name, summary, description, owner, version, state, tags } = calculation;
  return (
    <header>
      <div className="stack tight grow">
        <p className="crumbs">
          <Link href="/calculations">Calculations</Link> · {owner}
        </p>
        <h1>{name}</h1>
        {summary ? <p>{summary}</p> : null}
        {description ? <p className="muted">{description}</p> : null}
        <p className="row middle">
          <StateBadge state={state} />
          <span className="muted">version {version}</span>
          <CopyButton text={id} what="the id" />
        </p>
        <TagPills tags={tags} />
      </div>
      <Link className="button" href={`${pathOf("calculations", id)}/edit`}>
        <Pencil size={16} aria-hidden /> Edit
      </Link>
    </header>
  );
}

function Versions({ calculation }: { calculation: Shown }) {
  return (
    <section className="stack tight" aria-label="Versions">
      <h2>Versions</h2>
      <VersionTable
        id={calculation.id}
        versions={calculation.versions.nodes}
        about={{ Formula: ({ formula }) => <code>{formula}</code> }}
      />
    </section>
  );
}
