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
  id: "afe8396053c7467fbbd2a13ee163f607e100e0d331630d0ef67375c95dfffa36",
  name: "CataloguePipelines",
};
export const CatalogueCalculations: Operation<
  CatalogueCalculationsQuery,
  CatalogueCalculationsQueryVariables
> = {
  id: "5bc4d8ab5716d0e761368a9505a4bd921631c20199af4cd6ae3b293035c36a82",
  name: "CatalogueCalculations",
};
export const CatalogueDatasets: Operation<CatalogueDatasetsQuery, CatalogueDatasetsQueryVariables> =
  {
    id: "527ea21605f93c7466e457f25a755226c95bf36eb94450fe5929bd202d584069",
    name: "CatalogueDatasets",
  };
export const CatalogueMetrics: Operation<CatalogueMetricsQuery, CatalogueMetricsQueryVariables> = {
  id: "d1760a1cea1f33cf28d153281b7dd9596bc7237e499c4b520f1dd55d27f03696",
  name: "CatalogueMetrics",
};
export const FacetKeys: Operation<FacetKeysQuery, FacetKeysQueryVariables> = {
  id: "a00bf1cac66531dda8fceb366166232a9547641ea9adf29f75dec46249144720",
  name: "FacetKeys",
};
export const FacetValues: Operation<FacetValuesQuery, FacetValuesQueryVariables> = {
  id: "b64cb2a73a870754bf50506bc9bd9a87ae620b6b12acb0a852ff62bb0d0eac4e",
  name: "FacetValues",
};
export const CatalogueChanges: Operation<
  CatalogueChangesSubscription,
  CatalogueChangesSubscriptionVariables
> = {
  id: "63d5ef16ae76018c169d940bedba2e49ee8713a0a502ce8a38eca46a253ec4a2",
  name: "CatalogueChanges",
};
