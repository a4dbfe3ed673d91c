// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  RunnablePipelineQuery,
  RunnablePipelineQueryVariables,
  WaitingUploadQuery,
  WaitingUploadQueryVariables,
  CreateExecutionMutation,
  CreateExecutionMutationVariables,
  StartExecutionMutation,
  StartExecutionMutationVariables,
  AbandonExecutionMutation,
  AbandonExecutionMutationVariables,
} from "./types";

export const RunnablePipeline: Operation<RunnablePipelineQuery, RunnablePipelineQueryVariables> = {
  id: "8936c93f2266f8f49d015d95dac8daa8661b89faea8a657c5541a8c4d2df0018",
  name: "RunnablePipeline",
};
export const WaitingUpload: Operation<WaitingUploadQuery, WaitingUploadQueryVariables> = {
  id: "d24e80e6fe4bc34abb157785f80fc2d2178afc6220fbd89c85bb56f21a9ecb21",
  name: "WaitingUpload",
};
export const CreateExecution: Operation<CreateExecutionMutation, CreateExecutionMutationVariables> =
  {
    id: "6fc0c07f5bc6dc327684b5c9e1381473e78fca9a771c50a36bb5d943b6140085",
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
