// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  ManifestListQuery,
  ManifestListQueryVariables,
  ManifestRunsQuery,
  ManifestRunsQueryVariables,
  StuckRunsQuery,
  StuckRunsQueryVariables,
  RunHistoryQuery,
  RunHistoryQueryVariables,
  RecoverRunMutation,
  RecoverRunMutationVariables,
  ResetRunMutation,
  ResetRunMutationVariables,
  RetryRunMutation,
  RetryRunMutationVariables,
  SkipRunMutation,
  SkipRunMutationVariables,
  UnskipRunMutation,
  UnskipRunMutationVariables,
} from "./types";

export const ManifestList: Operation<ManifestListQuery, ManifestListQueryVariables> = {
  id: "16027b107a9fba759e6f3c6c0dd28c1b89cbc1103254ec31ea8b703c7640f47d",
  name: "ManifestList",
};
export const ManifestRuns: Operation<ManifestRunsQuery, ManifestRunsQueryVariables> = {
  id: "42151abacfdb0ec80e153b168f03593968f24249ffe373a6f5178d717835e4a7",
  name: "ManifestRuns",
};
export const StuckRuns: Operation<StuckRunsQuery, StuckRunsQueryVariables> = {
  id: "09222b66761ebc300b047c4bddb3a532d2ac108a523f90858d6e593ae1b93c3d",
  name: "StuckRuns",
};
export const RunHistory: Operation<RunHistoryQuery, RunHistoryQueryVariables> = {
  id: "757252b146201b28bd1aa685fe06630b4867241dae6156540a218400fd1c9dc6",
  name: "RunHistory",
};
export const RecoverRun: Operation<RecoverRunMutation, RecoverRunMutationVariables> = {
  id: "aad14222b12d4a55e5985ff6d5007934dd80ba08c45275397b4cb6ab7c7cbd51",
  name: "RecoverRun",
};
export const ResetRun: Operation<ResetRunMutation, ResetRunMutationVariables> = {
  id: "fdaee9e0d1dc40fac35a995c3174b6d291f72f63e04ed42d858d003f8b135e5a",
  name: "ResetRun",
};
export const RetryRun: Operation<RetryRunMutation, RetryRunMutationVariables> = {
  id: "ed0ac1d412d7163110e1bd991697b97c6be6b400e2daf78fda09582eb183d8b3",
  name: "RetryRun",
};
export const SkipRun: Operation<SkipRunMutation, SkipRunMutationVariables> = {
  id: "e030e02170c9e248de8a6e3fe59d9661e4c7f0ea77e13e0c6db6846d8f315a9a",
  name: "SkipRun",
};
export const UnskipRun: Operation<UnskipRunMutation, UnskipRunMutationVariables> = {
  id: "6c1196668c3f99870966999d0004a6e3eb29e037780ea6c7891583a08a27ee89",
  name: "UnskipRun",
};
