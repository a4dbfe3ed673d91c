// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { DatasetDetailsQuery, DatasetDetailsQueryVariables } from "./types";

export const DatasetDetails: Operation<DatasetDetailsQuery, DatasetDetailsQueryVariables> = {
  id: "6c36b3839b118b11dc838d7d58272e589c2d12424a39aa389ac5bfdeea92033a",
  name: "DatasetDetails",
};
