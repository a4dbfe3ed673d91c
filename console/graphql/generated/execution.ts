// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  ExecutionDetailsQuery,
  ExecutionDetailsQueryVariables,
  ExecutionLiveSubscription,
  ExecutionLiveSubscriptionVariables,
  PinnedTransformsQuery,
  PinnedTransformsQueryVariables,
  CancelExecutionMutation,
  CancelExecutionMutationVariables,
  RetryExecutionMutation,
  RetryExecutionMutationVariables,
} from "./types";

export const ExecutionDetails: Operation<ExecutionDetailsQuery, ExecutionDetailsQueryVariables> = {
  id: "34866dc73d3cb149b44ed77f7633979ae3c15d783b0437afae52bf6e321e3e62",
  name: "ExecutionDetails",
};
export const ExecutionLive: Operation<
  ExecutionLiveSubscription,
  ExecutionLiveSubscriptionVariables
> = {
  id: "6a8ae01ba83b7a642645605646cf528a2da3da72fb52ef9d29000254ea656f4f",
  name: "ExecutionLive",
};
export const PinnedTransforms: Operation<PinnedTransformsQuery, PinnedTransformsQueryVariables> = {
  id: "0c00751e736052fe21ad1f72fbbdd7d3dc3e8f497b5de6f377f10b2d9fd1d533",
  name: "PinnedTransforms",
};
export const CancelExecution: Operation<CancelExecutionMutation, CancelExecutionMutationVariables> =
  {
    id: "c74ac9ac3247c7f7d7fbadda63236133709fa3dcc3f11a20c581bb8a526444e2",
    name: "CancelExecution",
  };
export const RetryExecution: Operation<RetryExecutionMutation, RetryExecutionMutationVariables> = {
  id: "1dc380d8caf48a1381784cd87fc1893c23a81722120d7c216edad6b89b3a4dac",
  name: "RetryExecution",
};
