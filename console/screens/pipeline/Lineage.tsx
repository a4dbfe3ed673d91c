import { ArrowRight } from "lucide-react";
import type { ReactNode } from "react";
import { CalculationLink, DatasetLink } from "../../parts/Formula";
import { callsOf } from "../../parts/formulas";
import { UsedBy } from "../../parts/UsedBy";
import type { ShownPipeline } from "./shownPipeline";

/** One hop of what a pipeline is made of and what it is used for, from left to right. */
export function Lineage({ pipeline }: { pipeline: ShownPipeline }) {
  const { transforms, parameters } = pipeline.transformer;
  const { calculations, datasets } = callsOf(transforms.map(({ formula }) => formula));
  const group = pipeline.owner;
  const outputs = transforms.flatMap((transform) => transform.outputs);
  return (
    <div className="flow">
      <div className="stack tight">
        <Hop title="Parameters" names={parameters.map(({ key, label }) => label ?? key)} />
        <Hop
          title="Calculations"
          names={calculations}
          show={(name) => <CalculationLink name={name} group={group} />}
        />
        <Hop
          title="Datasets"
          names={datasets}
          show={(name) => <DatasetLink name={name} group={group} />}
        />
      </div>
      <ArrowRight className="arrow" aria-label="go into" />
      <p className="card here">
        <strong>{pipeline.name}</strong>
      </p>
      <ArrowRight className="arrow" aria-label="which gives" />
      <div className="stack tight">
        <Hop
          title="Outputs"
          names={outputs.map(({ key, label, index }) => key ?? label ?? `output ${index}`)}
        />
        <UsedBy id={pipeline.id} />
      </div>
    </div>
  );
}

interface HopProps {
  title: string;
  names: readonly string[];
  show?: (name: string) => ReactNode;
}

function Hop({ title, names, show = (name) => name }: HopProps) {
  return (
    <section className="card stack tight" aria-label={title}>
      <h2>{title}</h2>
      {names.length === 0 ? <p className="muted">None.</p> : null}
      <ul className="plain-list">
        {names.map((name) => (
          <li key={name}>{show(name)}</li>
        ))}
      </ul>
    </section>
  );
}
