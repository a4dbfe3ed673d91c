// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  ViewedGroupsQuery,
  ViewedGroupsQueryVariables,
  GroupsBelowQuery,
  GroupsBelowQueryVariables,
  GroupsBelowAllQuery,
  GroupsBelowAllQueryVariables,
  FindCalculationQuery,
  FindCalculationQueryVariables,
  FindDatasetQuery,
  FindDatasetQueryVariables,
  UsedByQuery,
  UsedByQueryVariables,
  SetVersionLabelMutation,
  SetVersionLabelMutationVariables,
  RemoveVersionLabelMutation,
  RemoveVersionLabelMutationVariables,
  RestoreVersionMutation,
  RestoreVersionMutationVariables,
  JobsQuery,
  JobsQueryVariables,
  JobDetailsQuery,
  JobDetailsQueryVariables,
  JobLiveSubscription,
  JobLiveSubscriptionVariables,
  CancelJobMutation,
  CancelJobMutationVariables,
} from "./types";

export const ViewedGroups: Operation<ViewedGroupsQuery, ViewedGroupsQueryVariables> = {
  id: "85237278552672c1728c5d3726af9d4a3f51fada19cac79c745f788d37ae649f",
  name: "ViewedGroups",
};
export const GroupsBelow: Operation<GroupsBelowQuery, GroupsBelowQueryVariables> = {
  id: "54e4bf2b20fcb7b9a75fcaa9c43201fb94e8b63d0940ba5f242c048ef1206611",
  name: "GroupsBelow",
};
export const GroupsBelowAll: Operation<GroupsBelowAllQuery, GroupsBelowAllQueryVariables> = {
  id: "72fe69a1d8db32074d1b72f33e57a958247f4fef7e6ce74b675b0e5a5016d380",
  name: "GroupsBelowAll",
};
export const FindCalculation: Operation<FindCalculationQuery, FindCalculationQueryVariables> = {
  id: "ab9fa2c3af6b1ef0c51c1efb4414b12ff1dbf6a5a7a23ee9ab4bf7dec0f306da",
  name: "FindCalculation",
};
export const FindDataset: Operation<FindDatasetQuery, FindDatasetQueryVariables> = {
  id: "ad16b8f96c5a59cbd0292ad8dab06b0e3e6bc8312f84f115304619ebe3b18999",
  name: "FindDataset",
};
export const UsedBy: Operation<UsedByQuery, UsedByQueryVariables> = {
  id: "c890001214244bfdbed441e7e21ca8aa9d7d9f3ef2069fdd46f7c984efed5dc2",
  name: "UsedBy",
};
export const SetVersionLabel: Operation<SetVersionLabelMutation, SetVersionLabelMutationVariables> =
  {
    id: "39a59c8263a44e81c479d05bc60cf9acb447860f2b9f3fd419d356baa66972c6",
    name: "SetVersionLabel",
  };
export const RemoveVersionLabel: Operation<
  RemoveVersionLabelMutation,
  RemoveVersionLabelMutationVariables
> = {
  id: "f688eaa8cdb7d8c643306a2c82a564f0207f4e23bfe6e6a73f5aaee22c94334a",
  name: "RemoveVersionLabel",
};
export const RestoreVersion: Operation<RestoreVersionMutation, RestoreVersionMutationVariables> = {
  id: "3187302d5235a1c9d7183c217ba9c23b93ac359733e143b43a816a4cfe5ec140",
  name: "RestoreVersion",
};
export const Jobs: Operation<JobsQuery, JobsQueryVariables> = {
  id: "7ee1c673fc19876a8479d87df475583172609b326fd9daa9a5dc699b817eabae",
  name: "Jobs",
};
export const JobDetails: Operation<JobDetailsQuery, JobDetailsQueryVariables> = {
  id: "eb00760f3c941d58be1710c4008b777b65917f2218f9a30754552797b743b8c8",
  name: "JobDetails",
};
export const JobLive: Operation<JobLiveSubscription, JobLiveSubscriptionVariables> = {
  id: "32c6e6477a7b4277ca0033bee19e67ec0363a03f5b64965fc126b176b4b1e09f",
  name: "JobLive",
};
export const CancelJob: Operation<CancelJobMutation, CancelJobMutationVariables> = {
  id: "36b42b7b93594925a7a8e2a81c6898667352ed0dc5acd0763db72f358fc4e429",
  name: "CancelJob",
};
