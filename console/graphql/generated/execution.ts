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
  OutputRowExplanationQuery,
  OutputRowExplanationQueryVariables,
} from "./types";

export const ExecutionDetails: Operation<ExecutionDetailsQuery, ExecutionDetailsQueryVariables> = {
  id: "95f418d03aa39c19f002f3eb03edc0050cef5bab58caf6ad133ab7cd7eb5bdc5",
  name: "ExecutionDetails",
};
export const ExecutionLive: Operation<
  ExecutionLiveSubscription,
  ExecutionLiveSubscriptionVariables
> = {
  id: "1635403338141d5aee3196141bc80cf48a16ebf830d5b831813c5a335994d8e4",
  name: "ExecutionLive",
};
export const PinnedTransforms: Operation<PinnedTransformsQuery, PinnedTransformsQueryVariables> = {
  id: "24a47ba49d1def6a2ffbf2151f959c5a8612f0991898c3319d6ffe8ec29109e5",
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
export const OutputRowExplanation: Operation<
  OutputRowExplanationQuery,
  OutputRowExplanationQueryVariables
> = {
  id: "97460308040837eb197ba5b7d51e11206a626b44dbd9bdbd265ed2419275a3e8",
  name: "OutputRowExplanation",
};
