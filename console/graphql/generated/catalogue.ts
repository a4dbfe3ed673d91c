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
  id: "e322ab1f8e2348948e0bd56170e621670ad1841376eab529b1e900d13ea3b1ab",
  name: "CataloguePipelines",
};
export const CatalogueCalculations: Operation<
  CatalogueCalculationsQuery,
  CatalogueCalculationsQueryVariables
> = {
  id: "de070733c896c1beac6d83c75ca2d8012d4d2fa548b6b3892a8bd0c25f54526f",
  name: "CatalogueCalculations",
};
export const CatalogueDatasets: Operation<CatalogueDatasetsQuery, CatalogueDatasetsQueryVariables> =
  {
    id: "694b2453b9aeba0731f85d8094434aa826e2f6ddd4dfb6c8614fe5bfe2945ed3",
    name: "CatalogueDatasets",
  };
export const CatalogueMetrics: Operation<CatalogueMetricsQuery, CatalogueMetricsQueryVariables> = {
  id: "9dd39fc4de13b422025e461344581e12bc6116489ed8ca87de29a99bc5d5d3c1",
  name: "CatalogueMetrics",
};
export const FacetKeys: Operation<FacetKeysQuery, FacetKeysQueryVariables> = {
  id: "9098a07b1f6c310a9180d6f635d4329e377217613907276224723bfe0475aa13",
  name: "FacetKeys",
};
export const FacetValues: Operation<FacetValuesQuery, FacetValuesQueryVariables> = {
  id: "4c3bd5d9146e6da3e69ceebca9815bde429dc83c813fb72302c8947f3b9d6f26",
  name: "FacetValues",
};
export const CatalogueChanges: Operation<
  CatalogueChangesSubscription,
  CatalogueChangesSubscriptionVariables
> = {
  id: "63d5ef16ae76018c169d940bedba2e49ee8713a0a502ce8a38eca46a253ec4a2",
  name: "CatalogueChanges",
};
