// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { DatasetDetailsQuery, DatasetDetailsQueryVariables } from "./types";

export const DatasetDetails: Operation<DatasetDetailsQuery, DatasetDetailsQueryVariables> = {
  id: "19fc8db5f92ce34a2035a6c64bf5a035b8335193b9d38c5e607396aebc80c71c",
  name: "DatasetDetails",
};
