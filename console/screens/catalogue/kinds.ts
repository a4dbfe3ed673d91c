import {
  CatalogueCalculations,
  CatalogueDatasets,
  CatalogueMetrics,
  CataloguePipelines,
} from "../../graphql/generated/catalogue";

/** What is listed of a kind, the words for it, and the command that makes samples of it. */
export const KINDS = {
  PIPELINE: {
    title: "Pipelines",
    one: "pipeline",
    path: "pipelines",
    operation: CataloguePipelines,
    command: "penstock seed",
  },
  CALCULATION: {
    title: "Calculations",
    one: "calculation",
    path: "calculations",
    operation: CatalogueCalculations,
    command: "penstock seed",
  },
  REFERENCE_DATASET: {
    title: "Datasets",
    one: "dataset",
    path: "datasets",
    operation: CatalogueDatasets,
    command: "penstock seed",
  },
  METRIC: {
    title: "Metrics",
    one: "metric",
    path: "metrics",
    operation: CatalogueMetrics,
    command: "penstock seed",
  },
} as const;

export type Kind = keyof typeof KINDS;
