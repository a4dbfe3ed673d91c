// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  MetricDetailsQuery,
  MetricDetailsQueryVariables,
  MetricSeriesQuery,
  MetricSeriesQueryVariables,
} from "./types";

export const MetricDetails: Operation<MetricDetailsQuery, MetricDetailsQueryVariables> = {
  id: "21ca2ea9872eb9f5ffb6f5c46fbb45aac5efccb3be79045abcfa43990812b4dc",
  name: "MetricDetails",
};
export const MetricSeries: Operation<MetricSeriesQuery, MetricSeriesQueryVariables> = {
  id: "6822636791283ca838f16261ba4f871788b66142903c89ce61fed5777d8e2fdd",
  name: "MetricSeries",
};
