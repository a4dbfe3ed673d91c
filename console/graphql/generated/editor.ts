// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  EditedPipelineQuery,
  EditedPipelineQueryVariables,
  EditedCalculationQuery,
  EditedCalculationQueryVariables,
  EditedMetricQuery,
  EditedMetricQueryVariables,
  EditedDatasetQuery,
  EditedDatasetQueryVariables,
  SaveNewPipelineMutation,
  SaveNewPipelineMutationVariables,
  SavePipelineMutation,
  SavePipelineMutationVariables,
  SaveNewCalculationMutation,
  SaveNewCalculationMutationVariables,
  SaveCalculationMutation,
  SaveCalculationMutationVariables,
  SaveNewMetricMutation,
  SaveNewMetricMutationVariables,
  SaveMetricMutation,
  SaveMetricMutationVariables,
  OpenDatasetUploadMutation,
  OpenDatasetUploadMutationVariables,
  SaveNewDatasetMutation,
  SaveNewDatasetMutationVariables,
  SaveDatasetMutation,
  SaveDatasetMutationVariables,
  LoadDatasetMutation,
  LoadDatasetMutationVariables,
  DeleteDatasetMutation,
  DeleteDatasetMutationVariables,
  DeletePipelineMutation,
  DeletePipelineMutationVariables,
  DeleteCalculationMutation,
  DeleteCalculationMutationVariables,
  DeleteMetricMutation,
  DeleteMetricMutationVariables,
  CompletePipelineQuery,
  CompletePipelineQueryVariables,
  PipelineOutputsQuery,
  PipelineOutputsQueryVariables,
  CompleteMetricQuery,
  CompleteMetricQueryVariables,
  CompleteCalculationQuery,
  CompleteCalculationQueryVariables,
  CompleteDatasetQuery,
  CompleteDatasetQueryVariables,
  DryRunPipelineQuery,
  DryRunPipelineQueryVariables,
} from "./types";

export const EditedPipeline: Operation<EditedPipelineQuery, EditedPipelineQueryVariables> = {
  id: "a89276acc19ff1a6f5085605f40b94b2171eaf9ceb6cb777713bacefd159673e",
  name: "EditedPipeline",
};
export const EditedCalculation: Operation<EditedCalculationQuery, EditedCalculationQueryVariables> =
  {
    id: "49cc432ade95516d623186f15f4dc94aa7a19d728d386ca20ef34577c7541e04",
    name: "EditedCalculation",
  };
export const EditedMetric: Operation<EditedMetricQuery, EditedMetricQueryVariables> = {
  id: "7750ae05b5563b284b45751fb881f60b3c8e1c653ba3c19dcff642357c28fe82",
  name: "EditedMetric",
};
export const EditedDataset: Operation<EditedDatasetQuery, EditedDatasetQueryVariables> = {
  id: "020cb44377f64ea71092ef2cee9e33b3e4482b97841ec4bbaca51ded1fcc7eae",
  name: "EditedDataset",
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
export const SaveNewMetric: Operation<SaveNewMetricMutation, SaveNewMetricMutationVariables> = {
  id: "0642b1f56c0b4af874a3424782a04e59753a13c86e139bb38e7db4d766dd5d2b",
  name: "SaveNewMetric",
};
export const SaveMetric: Operation<SaveMetricMutation, SaveMetricMutationVariables> = {
  id: "374298d94d163ae7d556814eff17cfd795bd21401692ff82c921c14563bd09b6",
  name: "SaveMetric",
};
export const OpenDatasetUpload: Operation<
  OpenDatasetUploadMutation,
  OpenDatasetUploadMutationVariables
> = {
  id: "774471b86df9a80b1f4600a6a1d9325c2054722a0b10e7b45b7c9cbaec0778ec",
  name: "OpenDatasetUpload",
};
export const SaveNewDataset: Operation<SaveNewDatasetMutation, SaveNewDatasetMutationVariables> = {
  id: "ffff4ab7f81d479132003b05f1fe2482c26b07cf7421f39a593ab5a20176da4a",
  name: "SaveNewDataset",
};
export const SaveDataset: Operation<SaveDatasetMutation, SaveDatasetMutationVariables> = {
  id: "4c9f27e461502af428482d0dbe2c5753c024722e0079248c6b001fb3212d8418",
  name: "SaveDataset",
};
export const LoadDataset: Operation<LoadDatasetMutation, LoadDatasetMutationVariables> = {
  id: "f7b5b38e0fd90a806ff9aba8b85bb3e03331970b486d39647246e5ce52326c22",
  name: "LoadDataset",
};
export const DeleteDataset: Operation<DeleteDatasetMutation, DeleteDatasetMutationVariables> = {
  id: "78a3278981d1787959e772d3b9c1189205e1c0102096c0bd0f37c743896742cd",
  name: "DeleteDataset",
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
export const DeleteMetric: Operation<DeleteMetricMutation, DeleteMetricMutationVariables> = {
  id: "18a672b4f61d5912bb81b408fd33ed48ba2aa39bf14eee3203fdb9924c00e166",
  name: "DeleteMetric",
};
export const CompletePipeline: Operation<CompletePipelineQuery, CompletePipelineQueryVariables> = {
  id: "76daff551181475d21e4aa1bed4f0fc59ec62aebf46197eb66912dcb2538e1c9",
  name: "CompletePipeline",
};
export const PipelineOutputs: Operation<PipelineOutputsQuery, PipelineOutputsQueryVariables> = {
  id: "4e0855d3ba8556bd188718952bc5a6f89344e44908cb2f16ec5e56555f1bca0c",
  name: "PipelineOutputs",
};
export const CompleteMetric: Operation<CompleteMetricQuery, CompleteMetricQueryVariables> = {
  id: "3f88b20b16d3b67c44b663e02130da31a6ff95390926dc3de776b9e52f2d85ed",
  name: "CompleteMetric",
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
