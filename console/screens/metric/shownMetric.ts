import type { MetricDetailsQuery } from "../../graphql/generated/types";

/** A metric as its screen reads it. */
export type ShownMetric = NonNullable<MetricDetailsQuery["metric"]>;

/** The name of an input: a pipeline with its output, or a metric; of one out of sight, no more. */
export function nameOfInput({ name, output }: ShownMetric["inputs"][number]): string {
  if (name === null) return "an input out of sight";
  return output ? `${name} ${output}` : name;
}
