// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  SensorServicesQuery,
  SensorServicesQueryVariables,
  SensorPathsQuery,
  SensorPathsQueryVariables,
  SensorEntitiesQuery,
  SensorEntitiesQueryVariables,
  EntityAttributesQuery,
  EntityAttributesQueryVariables,
  SensorSeriesQuery,
  SensorSeriesQueryVariables,
  SensorSamplesSubscription,
  SensorSamplesSubscriptionVariables,
  SinkLettersQuery,
  SinkLettersQueryVariables,
  ReplayLettersMutation,
  ReplayLettersMutationVariables,
  DeleteLettersMutation,
  DeleteLettersMutationVariables,
  DeleteSamplesMutation,
  DeleteSamplesMutationVariables,
} from "./types";

export const SensorServices: Operation<SensorServicesQuery, SensorServicesQueryVariables> = {
  id: "aa85e0e973d7c1e56458cc42dd33bd7b441830517b993d2a9018bac6b6507144",
  name: "SensorServices",
};
export const SensorPaths: Operation<SensorPathsQuery, SensorPathsQueryVariables> = {
  id: "96da5a0cc6c87b793c6a9cfb0bd997d013add0c1ccd7ae410fed2a0cff947825",
  name: "SensorPaths",
};
export const SensorEntities: Operation<SensorEntitiesQuery, SensorEntitiesQueryVariables> = {
  id: "63730d56f842b9e13e4e0a5b76b3e47c5767615c26f910ecd508a47ad0382efa",
  name: "SensorEntities",
};
export const EntityAttributes: Operation<EntityAttributesQuery, EntityAttributesQueryVariables> = {
  id: "08733dcee229d39871a5a1dfe7cd9a07ade4db8ad65155bf51cb1810de68cbe3",
  name: "EntityAttributes",
};
export const SensorSeries: Operation<SensorSeriesQuery, SensorSeriesQueryVariables> = {
  id: "c881c2c3dfb5dad181786ae2ffd7b93c5ac64ddc364095bf3b3f28b1b498af08",
  name: "SensorSeries",
};
export const SensorSamples: Operation<
  SensorSamplesSubscription,
  SensorSamplesSubscriptionVariables
> = {
  id: "0107dba938c02d62d0bfd520129a7a1e1ed23e068acc60c7d1f1af9378dbb8ff",
  name: "SensorSamples",
};
export const SinkLetters: Operation<SinkLettersQuery, SinkLettersQueryVariables> = {
  id: "8990c674a6a8509446d18fe4ee75e6aad69f75d2a752db26f9f5d4a61f5a8608",
  name: "SinkLetters",
};
export const ReplayLetters: Operation<ReplayLettersMutation, ReplayLettersMutationVariables> = {
  id: "c0402174949ced086b48d6b9e975ba5cbf2e4e189d0b3ea098ecae864d174a5f",
  name: "ReplayLetters",
};
export const DeleteLetters: Operation<DeleteLettersMutation, DeleteLettersMutationVariables> = {
  id: "d69a9140257f6297e88a4695958d966deba501de0f9a576617a0234f68cdcb7c",
  name: "DeleteLetters",
};
export const DeleteSamples: Operation<DeleteSamplesMutation, DeleteSamplesMutationVariables> = {
  id: "491fef25ae76cf48237ea501e1d3502f7a81f99aef6507ef30b69152c9d6146c",
  name: "DeleteSamples",
};
