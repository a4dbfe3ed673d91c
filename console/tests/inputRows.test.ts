import { expect, test } from "vitest";
import { inputRowsOf } from "../screens/execution/inputRows";

test("rows of the output come from the rows of the input that were not rejected, in order", () => {
  expect(inputRowsOf(3, [2, 2, 4], true)).toEqual([1, 3, 5]);
  expect(inputRowsOf(2, [], true)).toEqual([1, 2]);
});

test("behind the last rejected row that is known, nothing is said", () => {
  expect(inputRowsOf(4, [2, 4], false)).toEqual([1, 3, null, null]);
});
