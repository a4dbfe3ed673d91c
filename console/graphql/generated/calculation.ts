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
  id: "fa6cd8114351c0ffc2ce60db721ef9d9350ccabc175d9479f1f153b1fb884c6c",
  name: "CalculationDetails",
};
export const Evaluate: Operation<EvaluateQuery, EvaluateQueryVariables> = {
  id: "bdc974b3028fd881a60326538830eee092c0bc6891710bb1903186b1d2763aaf",
  name: "Evaluate",
};
