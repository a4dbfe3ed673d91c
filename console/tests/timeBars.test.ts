import { expect, test } from "vitest";
import { largestSeries } from "../parts/TimeBars";

const series = (name: string, ...values: number[]) => ({
  name,
  values: values.map((value, month) => ({ start: `2024-0${month + 1}-01T00:00:00Z`, value })),
});

test("as many series are drawn as there are colours: the largest, in their order", () => {
  const few = ["a", "b", "c", "d", "e", "f"].map((name) => series(name, 1, 2));
  expect(largestSeries(few)).toBe(few);
  const many = [series("small", 1), ...few, series("smallest", 0, 1)];
  expect(largestSeries(many)).toEqual(few);
});
