// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  PipelineDetailsQuery,
  PipelineDetailsQueryVariables,
  PipelineVersionsQuery,
  PipelineVersionsQueryVariables,
  PipelineDiffQuery,
  PipelineDiffQueryVariables,
  PipelineAccessQuery,
  PipelineAccessQueryVariables,
  GrantPipelineMutation,
  GrantPipelineMutationVariables,
  RevokePipelineMutation,
  RevokePipelineMutationVariables,
  PipelineExecutionsQuery,
  PipelineExecutionsQueryVariables,
} from "./types";

export const PipelineDetails: Operation<PipelineDetailsQuery, PipelineDetailsQueryVariables> = {
  id: "25c6108637872ad07b9cbf7e12335fc0b1dd952097664f4086faff1b377a8e8c",
  name: "PipelineDetails",
};
export const PipelineVersions: Operation<PipelineVersionsQuery, PipelineVersionsQueryVariables> = {
  id: "7eee045237d6843246a0a7f5aa055f8fe721bb0f0f7129550b2fd2648ffc9321",
  name: "PipelineVersions",
};
export const PipelineDiff: Operation<PipelineDiffQuery, PipelineDiffQueryVariables> = {
  id: "0160ea000e347db4b87b6dd5349a96056815c765e34a28561eafbd7646af7df1",
  name: "PipelineDiff",
};
export const PipelineAccess: Operation<PipelineAccessQuery, PipelineAccessQueryVariables> = {
  id: "2ecc1b05a3662d8e4f0ef9c0a8b8645440f9d4a8eeed9a8efe45155d6d180f50",
  name: "PipelineAccess",
};
export const GrantPipeline: Operation<GrantPipelineMutation, GrantPipelineMutationVariables> = {
  id: "f7bb56b17d2432299fc2e29aaa92ff82d6ee1c664060398853dbfa1ba9482167",
  name: "GrantPipeline",
};
export const RevokePipeline: Operation<RevokePipelineMutation, RevokePipelineMutationVariables> = {
  id: "601356f9e13ee11e2718ebbd00413ede1a2b7e78135b4450d915f64c6366c873",
  name: "RevokePipeline",
};
export const PipelineExecutions: Operation<
  PipelineExecutionsQuery,
  PipelineExecutionsQueryVariables
> = {
  id: "f347c46bd46d03f65e514cfda2c49084e1a9c78365eb4947cd1c27f417c6674c",
  name: "PipelineExecutions",
};
