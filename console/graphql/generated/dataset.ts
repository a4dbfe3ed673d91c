// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type { DatasetDetailsQuery, DatasetDetailsQueryVariables } from "./types";

export const DatasetDetails: Operation<DatasetDetailsQuery, DatasetDetailsQueryVariables> = {
  id: "cb18222aa01f9049f18ea22c5ca2dc4bc51a3393fbe5018e3bd0598435183e09",
  name: "DatasetDetails",
};
