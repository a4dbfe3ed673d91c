// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  RunnablePipelineQuery,
  RunnablePipelineQueryVariables,
  CreateExecutionMutation,
  CreateExecutionMutationVariables,
  StartExecutionMutation,
  StartExecutionMutationVariables,
  AbandonExecutionMutation,
  AbandonExecutionMutationVariables,
} from "./types";

export const RunnablePipeline: Operation<RunnablePipelineQuery, RunnablePipelineQueryVariables> = {
  id: "d70bd031e0aaba5574b51047ac97a8d47fdaa0f59f31ba3d8c2e2bec9030b901",
  name: "RunnablePipeline",
};
export const CreateExecution: Operation<CreateExecutionMutation, CreateExecutionMutationVariables> =
  {
    id: "986a9973b62235248d3a54827e8081135fc3632716bbce14bada810203e370bf",
    name: "CreateExecution",
  };
export const StartExecution: Operation<StartExecutionMutation, StartExecutionMutationVariables> = {
  id: "6b5c5767af774f4c37307a4a73db84b1762ab9e2dc93537b6b450a1b79c15b2b",
  name: "StartExecution",
};
export const AbandonExecution: Operation<
  AbandonExecutionMutation,
  AbandonExecutionMutationVariables
> = {
  id: "98e5340bd249fc588eee6372ec4a8d9e552215e0d485fc19cbc7ca96d632c381",
  name: "AbandonExecution",
};
