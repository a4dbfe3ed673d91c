import type { PipelineDetailsQuery } from "../../graphql/generated/types";

/** A pipeline as its screen reads it. */
export type ShownPipeline = NonNullable<PipelineDetailsQuery["pipeline"]>;
