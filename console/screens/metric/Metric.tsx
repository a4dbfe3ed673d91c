import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { MetricDetails } from "../../graphql/generated/metric";
import { pathOf } from "../../parts/address";
import { OfRole } from "../../parts/denial";
import { formatName } from "../../parts/format";
import { EditLink } from "../../parts/marks";
import { ResourceHead } from "../../parts/ResourceHead";
import { Answered, Missing } from "../../parts/state";
import { VersionTable } from "../../parts/VersionTable";
import { useTitle } from "../../parts/title";
import { Series } from "./Series";
import { nameOfInput, type ShownMetric } from "./shownMetric";

/** A metric: its values over time and groups, what they are made of, and its versions. */
export default function Metric({ id }: { id: string }) {
  const query = useAnswer(MetricDetails, { id, asAt: null });
  useTitle(query.data?.metric?.name);
  return (
    <Answered query={query} what="the metric">
      {({ metric }) =>
        metric ? (
          <>
            <ResourceHead list={["/metrics", "Metrics"]} resource={metric}>
              <OfRole role="CONTRIBUTOR" at={metric.owner}>
                <EditLink kind="metrics" id={id} />
              </OfRole>
            </ResourceHead>
            <Inputs metric={metric} />
            <Series metric={metric} />
            <Versions metric={metric} />
          </>
        ) : (
          <Missing what="metric" />
        )
      }
    </Answered>
  );
}

/** Lead to the metric, or to the rows of the pipeline, that an input is. */
function InputLink({ input }: { input: ShownMetric["inputs"][number] }) {
  if (input.metricId)
    return <Link href={pathOf("metrics", input.metricId)}>{nameOfInput(input)}</Link>;
  if (!input.pipelineId) return <span className="muted">{nameOfInput(input)}</span>;
  return <Link href={`${pathOf("pipelines", input.pipelineId)}/rows`}>{nameOfInput(input)}</Link>;
}

function Inputs({ metric }: { metric: ShownMetric }) {
  return (
    <section className="stack tight" aria-label="Inputs">
      <p>
        {formatName(metric.function)} of {metric.inputs.length === 0 ? "nothing yet" : null}
        {metric.inputs.map((input, place) => (
          <span key={place}>
            {place > 0 ? ", " : ""}
            <InputLink input={input} />
          </span>
        ))}
        {metric.unit ? <span className="muted">, in {metric.unit}</span> : null}
      </p>
    </section>
  );
}

function Versions({ metric }: { metric: ShownMetric }) {
  return (
    <section className="stack tight" aria-label="Versions">
      <h2>Versions</h2>
      <VersionTable
        id={metric.id}
        owner={metric.owner}
        newest={metric.version}
        versions={metric.versions.nodes}
      />
    </section>
  );
}
