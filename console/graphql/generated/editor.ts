// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  EditedPipelineQuery,
  EditedPipelineQueryVariables,
  EditedCalculationQuery,
  EditedCalculationQueryVariables,
  SaveNewPipelineMutation,
  SaveNewPipelineMutationVariables,
  SavePipelineMutation,
  SavePipelineMutationVariables,
  SaveNewCalculationMutation,
  SaveNewCalculationMutationVariables,
  SaveCalculationMutation,
  SaveCalculationMutationVariables,
  DeletePipelineMutation,
  DeletePipelineMutationVariables,
  DeleteCalculationMutation,
  DeleteCalculationMutationVariables,
  CompleteCalculationQuery,
  CompleteCalculationQueryVariables,
  CompleteDatasetQuery,
  CompleteDatasetQueryVariables,
  DryRunPipelineQuery,
  DryRunPipelineQueryVariables,
} from "./types";

export const EditedPipeline: Operation<EditedPipelineQuery, EditedPipelineQueryVariables> = {
  id: "ec033e4a530f9cf387a65932b383466787c996892cefdd8c76c6046998467154",
  name: "EditedPipeline",
};
export const EditedCalculation: Operation<EditedCalculationQuery, EditedCalculationQueryVariables> =
  {
    id: "87c3d949cc9d6f460934869dfe0b52fdfd5a8f8ad6360959ac75604da96f9b64",
    name: "EditedCalculation",
  };
export const SaveNewPipeline: Operation<SaveNewPipelineMutation, SaveNewPipelineMutationVariables> =
  {
    id: "a25342703eab3836f6ddd427012bbe8a44ad44ff5f189e0548017b505d1d0a75",
    name: "SaveNewPipeline",
  };
export const SavePipeline: Operation<SavePipelineMutation, SavePipelineMutationVariables> = {
  id: "7c42238d447efc17ff136d49db041b69607fe892d2d07dfa00624fa7360c25b2",
  name: "SavePipeline",
};
export const SaveNewCalculation: Operation<
  SaveNewCalculationMutation,
  SaveNewCalculationMutationVariables
> = {
  id: "f71e134d23d876803d4d1bbc9a533a83b59b50fe0fdee157b9133b7d34ab0c20",
  name: "SaveNewCalculation",
};
export const SaveCalculation: Operation<SaveCalculationMutation, SaveCalculationMutationVariables> =
  {
    id: "5a52a851c0d6604281c163588d9ef0a004b93a63b0cb65bbf9df571fd539587c",
    name: "SaveCalculation",
  };
export const DeletePipeline: Operation<DeletePipelineMutation, DeletePipelineMutationVariables> = {
  id: "ba9287c3046a3ce755a91fc81109f46730dfdc6936d2f3eb800b548043b53e62",
  name: "DeletePipeline",
};
export const DeleteCalculation: Operation<
  DeleteCalculationMutation,
  DeleteCalculationMutationVariables
> = {
  id: "4f46c95e727ac7c0ffbb7204adb685c0abc7e9769f68416ef797b8a63ca28ab4",
  name: "DeleteCalculation",
};
export const CompleteCalculation: Operation<
  CompleteCalculationQuery,
  CompleteCalculationQueryVariables
> = {
  id: "e132c71dfb9e298551bf90fea68fc1c89ebc928fb5fd8ac730f2b8a9abe05447",
  name: "CompleteCalculation",
};
export const CompleteDataset: Operation<CompleteDatasetQuery, CompleteDatasetQueryVariables> = {
  id: "e7ff7f74bb82518dea57f787ab1fbeba43b4056997445ac158f2d301c4cddc17",
  name: "CompleteDataset",
};
export const DryRunPipeline: Operation<DryRunPipelineQuery, DryRunPipelineQueryVariables> = {
  id: "badf3119029ea69d5fcd809c27d393dfa81f46c827f5c5ee95463b0522d26cef",
  name: "DryRunPipeline",
};
