// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  ExecutionsQuery,
  ExecutionsQueryVariables,
  ExecutionTotalsQuery,
  ExecutionTotalsQueryVariables,
  ExecutionsLiveSubscription,
  ExecutionsLiveSubscriptionVariables,
} from "./types";

export const Executions: Operation<ExecutionsQuery, ExecutionsQueryVariables> = {
  id: "0c34b766814f41cef30fbe68b3deff44728ee623145800d340127ea60cd94d62",
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
