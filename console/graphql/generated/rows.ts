// Written by `npm run generate`; do not edit.

import type { Operation } from "../operation";
import type {
  KeptRowsQuery,
  KeptRowsQueryVariables,
  RowTotalsQuery,
  RowTotalsQueryVariables,
  RowPipelineQuery,
  RowPipelineQueryVariables,
  RowHistoryQuery,
  RowHistoryQueryVariables,
  RowExplanationQuery,
  RowExplanationQueryVariables,
  WithdrawRowMutation,
  WithdrawRowMutationVariables,
} from "./types";

export const KeptRows: Operation<KeptRowsQuery, KeptRowsQueryVariables> = {
  id: "042f3d43bafbb22308eb522ee0df2a11568406748d276f14b9342ba26e891371",
  name: "KeptRows",
};
export const RowTotals: Operation<RowTotalsQuery, RowTotalsQueryVariables> = {
  id: "380b015b57ae4e67f758fec4884d980a434f5082de172ba2c98d77305fc5ebe1",
  name: "RowTotals",
};
export const RowPipeline: Operation<RowPipelineQuery, RowPipelineQueryVariables> = {
  id: "d19d91d7fac02f92a6512c843ff6d336c004bec488bc157b3b3f651d7331a869",
  name: "RowPipeline",
};
export const RowHistory: Operation<RowHistoryQuery, RowHistoryQueryVariables> = {
  id: "9f511dd9f9c6fd629e949e99bcb71f6f4a71d7ddf244f24a466c5b6c13ba3ff2",
  name: "RowHistory",
};
export const RowExplanation: Operation<RowExplanationQuery, RowExplanationQueryVariables> = {
  id: "a82bb0b490df6e84339156be5b83d140aa360442d1c960b0e27a2a8b16cb6099",
  name: "RowExplanation",
};
export const WithdrawRow: Operation<WithdrawRowMutation, WithdrawRowMutationVariables> = {
  id: "0c056cf95e13a93eaac0a06e9ef02db4a1a6cad35982e2c75083edff9879c210",
  name: "WithdrawRow",
};
