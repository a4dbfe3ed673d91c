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
} from "./types";

export const SensorServices: Operation<SensorServicesQuery, SensorServicesQueryVariables> = {
  id: "07f68193995e9be7c9aefce02241eb7909e505a8c835952f5580283916eef740",
  name: "SensorServices",
};
export const SensorEntities: Operation<SensorEntitiesQuery, SensorEntitiesQueryVariables> = {
  id: "120bca2d9621451ff0cedcb40533a452796cdf6d6e060d2c272e072b84830498",
  name: "SensorEntities",
};
export const SensorSeries: Operation<SensorSeriesQuery, SensorSeriesQueryVariables> = {
  id: "3802c15532cbb3bd1657d678af1b9d250dcae52032e6456dde4c602bb2bcc2a7",
  name: "SensorSeries",
};
export const SensorSamples: Operation<
  SensorSamplesSubscription,
  SensorSamplesSubscriptionVariables
> = {
  id: "4dc98c7701f8e48704ffeb6160a1f840da75132c6178743339b997e6b50878eb",
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
