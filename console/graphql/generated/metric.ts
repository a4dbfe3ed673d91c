// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  MetricDetailsQuery,
  MetricDetailsQueryVariables,
  MetricSeriesQuery,
  MetricSeriesQueryVariables,
} from "./types";

export const MetricDetails: Operation<MetricDetailsQuery, MetricDetailsQueryVariables> = {
  id: "0a5136e94ab05bcd7fad019bf97a7aef7cecb2fb3e2078333faff2d0cea3ebcb",
  name: "MetricDetails",
};
export const MetricSeries: Operation<MetricSeriesQuery, MetricSeriesQueryVariables> = {
  id: "6822636791283ca838f16261ba4f871788b66142903c89ce61fed5777d8e2fdd",
  name: "MetricSeries",
};
