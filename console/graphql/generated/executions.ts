// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  ExecutionsQuery,
  ExecutionsQueryVariables,
  ExecutionTotalsQuery,
  ExecutionTotalsQueryVariables,
  ExecutionsLiveSubscription,
  ExecutionsLiveSubscriptionVariables,
  PipelineChoicesQuery,
  PipelineChoicesQueryVariables,
  ChosenPipelineQuery,
  ChosenPipelineQueryVariables,
} from "./types";

export const Executions: Operation<ExecutionsQuery, ExecutionsQueryVariables> = {
  id: "f754c00f14f18169ad0966ca9c227e59643691a39a5a957af087c3f5f79d14e0",
  name: "Executions",
};
export const ExecutionTotals: Operation<ExecutionTotalsQuery, ExecutionTotalsQueryVariables> = {
  id: "67f54dc1052b428ad2c4271323db59d8f7becec456091bab3baafd74841d3b9c",
  name: "ExecutionTotals",
};
export const ExecutionsLive: Operation<
  ExecutionsLiveSubscription,
  ExecutionsLiveSubscriptionVariables
> = {
  id: "5268a4138308faa787e83fedd10bb2153c6c2dc8f942883a831d612ccbd19f88",
  name: "ExecutionsLive",
};
export const PipelineChoices: Operation<PipelineChoicesQuery, PipelineChoicesQueryVariables> = {
  id: "89f2ba41312042fec14e4d72395b023c50e877f7b9065484e3179322ffa71274",
  name: "PipelineChoices",
};
export const ChosenPipeline: Operation<ChosenPipelineQuery, ChosenPipelineQueryVariables> = {
  id: "2cb74419df6216038329fd9fe850255d46bc47084ac7e7a7788a4bcfb4425685",
  name: "ChosenPipeline",
};
