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
  id: "4f953faf2879f91a1691d7e8dfbb2f1218b3a93a6e7fce0dd585e2a25c2bc4e0",
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
  id: "456da123a1b0f7134d1e5b4e2bca23b4b094b7dbd53a12f22d2e1ad812a78070",
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
