import { useAnswer } from "../../app/queries";
import { CalculationDetails } from "../../graphql/generated/calculation";
import type { CalculationDetailsQuery } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { AsAt, missingAsAt } from "../../parts/AsAt";
import { OfRole } from "../../parts/denial";
import { Formula, FormulaCode } from "../../parts/Formula";
import { EditLink } from "../../parts/marks";
import { ResourceHead } from "../../parts/ResourceHead";
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
            <ResourceHead
              list={["/calculations", "Calculations"]}
              resource={calculation}
              summary={calculation.summary}
            >
              <OfRole role="CONTRIBUTOR" at={calculation.owner}>
                <EditLink kind="calculations" id={id} />
              </OfRole>
            </ResourceHead>
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

function Versions({ calculation }: { calculation: Shown }) {
  return (
    <section className="stack tight" aria-label="Versions">
      <h2>Versions</h2>
      <VersionTable
        id={calculation.id}
        owner={calculation.owner}
        newest={calculation.version}
        versions={calculation.versions.nodes}
        about={{ Formula: ({ formula }) => <FormulaCode formula={formula} /> }}
      />
    </section>
  );
}
