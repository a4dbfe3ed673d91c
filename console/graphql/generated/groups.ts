// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  GroupDetailsQuery,
  GroupDetailsQueryVariables,
  GroupJobsQuery,
  GroupJobsQueryVariables,
  JobLiveSubscription,
  JobLiveSubscriptionVariables,
  CreateGroupMutation,
  CreateGroupMutationVariables,
  UpdateGroupMutation,
  UpdateGroupMutationVariables,
  DeleteGroupMutation,
  DeleteGroupMutationVariables,
  CancelJobMutation,
  CancelJobMutationVariables,
  ApiKeysQuery,
  ApiKeysQueryVariables,
  CreateApiKeyMutation,
  CreateApiKeyMutationVariables,
  RevokeApiKeyMutation,
  RevokeApiKeyMutationVariables,
} from "./types";

export const GroupDetails: Operation<GroupDetailsQuery, GroupDetailsQueryVariables> = {
  id: "f6a441a249a9192ef4cfbaabc5c93670aa88babbd2eb4f458cb12b8321533b94",
  name: "GroupDetails",
};
export const GroupJobs: Operation<GroupJobsQuery, GroupJobsQueryVariables> = {
  id: "de4cb46b92e84b6f631b2ceff8708b4a19be4bc8c07960c41c2002f1adb8756b",
  name: "GroupJobs",
};
export const JobLive: Operation<JobLiveSubscription, JobLiveSubscriptionVariables> = {
  id: "32c6e6477a7b4277ca0033bee19e67ec0363a03f5b64965fc126b176b4b1e09f",
  name: "JobLive",
};
export const CreateGroup: Operation<CreateGroupMutation, CreateGroupMutationVariables> = {
  id: "440c31937e7e0709ba8fe3e896f5b82a45bbed542988f48e909fa6251f22185e",
  name: "CreateGroup",
};
export const UpdateGroup: Operation<UpdateGroupMutation, UpdateGroupMutationVariables> = {
  id: "2bcb471e5b16c03f7c47de235f3fea4e3f01ca1bb781a7d52c8aed50b930131d",
  name: "UpdateGroup",
};
export const DeleteGroup: Operation<DeleteGroupMutation, DeleteGroupMutationVariables> = {
  id: "85aacbfdf445fbfb42f9881868db8cedf790f93e51395ea537ecd3f41c6e7454",
  name: "DeleteGroup",
};
export const CancelJob: Operation<CancelJobMutation, CancelJobMutationVariables> = {
  id: "36b42b7b93594925a7a8e2a81c6898667352ed0dc5acd0763db72f358fc4e429",
  name: "CancelJob",
};
export const ApiKeys: Operation<ApiKeysQuery, ApiKeysQueryVariables> = {
  id: "11460727febc046a7d5f61660d4048655b18de2c1140723249730d23fc8f4353",
  name: "ApiKeys",
};
export const CreateApiKey: Operation<CreateApiKeyMutation, CreateApiKeyMutationVariables> = {
  id: "b02a59861418cb8327ba9a916ada6b5f9c5c16e6e1372477eb009cb309f6f6d2",
  name: "CreateApiKey",
};
export const RevokeApiKey: Operation<RevokeApiKeyMutation, RevokeApiKeyMutationVariables> = {
  id: "c65e0bce538c31a543ef719c6d1d4c5f184549b2417a3358a614e094a3fd478b",
  name: "RevokeApiKey",
};
