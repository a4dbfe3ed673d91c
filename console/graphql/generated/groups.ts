// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  GroupDetailsQuery,
  GroupDetailsQueryVariables,
  CreateGroupMutation,
  CreateGroupMutationVariables,
  UpdateGroupMutation,
  UpdateGroupMutationVariables,
  DeleteGroupMutation,
  DeleteGroupMutationVariables,
  ApiKeysQuery,
  ApiKeysQueryVariables,
  CreateApiKeyMutation,
  CreateApiKeyMutationVariables,
  RevokeApiKeyMutation,
  RevokeApiKeyMutationVariables,
} from "./types";

export const GroupDetails: Operation<GroupDetailsQuery, GroupDetailsQueryVariables> = {
  id: "37842639663bfb3df6431dacacc8aeeb9078eeae2a6bf77a61be5223b396db45",
  name: "GroupDetails",
};
export const CreateGroup: Operation<CreateGroupMutation, CreateGroupMutationVariables> = {
  id: "46dc244d5ab5b61fc9514b60b144c69ffe97199975df281acc76acc629f51013",
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
