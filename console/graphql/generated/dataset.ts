// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  DatasetDetailsQuery,
  DatasetDetailsQueryVariables,
  DatasetDiffQuery,
  DatasetDiffQueryVariables,
} from "./types";

export const DatasetDetails: Operation<DatasetDetailsQuery, DatasetDetailsQueryVariables> = {
  id: "19fc8db5f92ce34a2035a6c64bf5a035b8335193b9d38c5e607396aebc80c71c",
  name: "DatasetDetails",
};
export const DatasetDiff: Operation<DatasetDiffQuery, DatasetDiffQueryVariables> = {
  id: "14389db6f96c99e445b2d97411eb37a6d04c05b27a8f5919aeed0552e3fb3815",
  name: "DatasetDiff",
};
