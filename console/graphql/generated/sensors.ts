// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  SensorServicesQuery,
  SensorServicesQueryVariables,
  SensorEntitiesQuery,
  SensorEntitiesQueryVariables,
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
  id: "07f68193995e9be7c9aefce02241eb7909e505a8c835952f5580283916eef740",
  name: "SensorServices",
};
export const SensorEntities: Operation<SensorEntitiesQuery, SensorEntitiesQueryVariables> = {
  id: "a4ad99fe3ef150a2f17dfe95f2109b52f3c43af374a08bf5a4647ecfa0c36234",
  name: "SensorEntities",
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
