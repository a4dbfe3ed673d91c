// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  GroupChoicesQuery,
  GroupChoicesQueryVariables,
  FindCalculationQuery,
  FindCalculationQueryVariables,
  FindDatasetQuery,
  FindDatasetQueryVariables,
  UsedByQuery,
  UsedByQueryVariables,
} from "./types";

export const GroupChoices: Operation<GroupChoicesQuery, GroupChoicesQueryVariables> = {
  id: "b5a88842a34c8f4fd6e961ceb9eb02beed02dec980f536733f3ba0188f28df46",
  name: "GroupChoices",
};
export const FindCalculation: Operation<FindCalculationQuery, FindCalculationQueryVariables> = {
  id: "ab9fa2c3af6b1ef0c51c1efb4414b12ff1dbf6a5a7a23ee9ab4bf7dec0f306da",
  name: "FindCalculation",
};
export const FindDataset: Operation<FindDatasetQuery, FindDatasetQueryVariables> = {
  id: "ad16b8f96c5a59cbd0292ad8dab06b0e3e6bc8312f84f115304619ebe3b18999",
  name: "FindDataset",
};
export const UsedBy: Operation<UsedByQuery, UsedByQueryVariables> = {
  id: "c890001214244bfdbed441e7e21ca8aa9d7d9f3ef2069fdd46f7c984efed5dc2",
  name: "UsedBy",
};
