// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  CataloguePipelinesQuery,
  CataloguePipelinesQueryVariables,
  CatalogueCalculationsQuery,
  CatalogueCalculationsQueryVariables,
  CatalogueDatasetsQuery,
  CatalogueDatasetsQueryVariables,
  CatalogueMetricsQuery,
  CatalogueMetricsQueryVariables,
  FacetKeysQuery,
  FacetKeysQueryVariables,
  FacetValuesQuery,
  FacetValuesQueryVariables,
  CatalogueChangesSubscription,
  CatalogueChangesSubscriptionVariables,
} from "./types";

export const CataloguePipelines: Operation<
  CataloguePipelinesQuery,
  CataloguePipelinesQueryVariables
> = {
  id: "6c8d39e11fe3b4a0ca319974b654df2fd8345619017fdd8e941c0fa071c9e869",
  name: "CataloguePipelines",
};
export const CatalogueCalculations: Operation<
  CatalogueCalculationsQuery,
  CatalogueCalculationsQueryVariables
> = {
  id: "b5fa345a16edd953548f86f51fc4fbd53129c6c077942352b774bd0b0a0331e3",
  name: "CatalogueCalculations",
};
export const CatalogueDatasets: Operation<CatalogueDatasetsQuery, CatalogueDatasetsQueryVariables> =
  {
    id: "c49e13612295cba6280fb88a5def1d37b7f01a2dc3ca9e1ebd48af124048fe27",
    name: "CatalogueDatasets",
  };
export const CatalogueMetrics: Operation<CatalogueMetricsQuery, CatalogueMetricsQueryVariables> = {
  id: "c8c0dc759a215560f4b102cab2cb1f0775031327475f0ac4d21490692e4f80c1",
  name: "CatalogueMetrics",
};
export const FacetKeys: Operation<FacetKeysQuery, FacetKeysQueryVariables> = {
  id: "986d3d8b770b4118adba3fa616d2b874fcd9655122a9ac700602c32d7e55f5f0",
  name: "FacetKeys",
};
export const FacetValues: Operation<FacetValuesQuery, FacetValuesQueryVariables> = {
  id: "c530b7d7a983f1b8a2e2e1628703bba9d126f095c643090aa914d9bb8927eb7e",
  name: "FacetValues",
};
export const CatalogueChanges: Operation<
  CatalogueChangesSubscription,
  CatalogueChangesSubscriptionVariables
> = {
  id: "63d5ef16ae76018c169d940bedba2e49ee8713a0a502ce8a38eca46a253ec4a2",
  name: "CatalogueChanges",
};
