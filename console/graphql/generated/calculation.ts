// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  CalculationDetailsQuery,
  CalculationDetailsQueryVariables,
  EvaluateQuery,
  EvaluateQueryVariables,
} from "./types";

export const CalculationDetails: Operation<
  CalculationDetailsQuery,
  CalculationDetailsQueryVariables
> = {
  id: "135355aee587647f1f46abcae7df886c6277ac17ddbb40afbfa7668868e02ca3",
  name: "CalculationDetails",
};
export const Evaluate: Operation<EvaluateQuery, EvaluateQueryVariables> = {
  id: "bdc974b3028fd881a60326538830eee092c0bc6891710bb1903186b1d2763aaf",
  name: "Evaluate",
};
