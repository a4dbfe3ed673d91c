import { expect, test } from "vitest";
import { namedPlaces, roundUp } from "../parts/axis";

test.each([
  [0, 1],
  [-3, 1],
  [0.07, 0.1],
  [1, 1],
  [17, 20],
  [35, 40],
  [41, 50],
  [5001, 10000],
  [0.3, 0.4],
])("the axis of values up to %d ends at %d", (value, top) => {
  expect(roundUp(value)).toBe(top);
});

test.each([
  [1, [0]],
  [6, [0, 1, 2, 3, 4, 5]],
  [12, [0, 2, 4, 6, 8, 10]],
  [36, [0, 6, 12, 18, 24, 30]],
  [1000, [0, 167, 334, 501, 668, 835]],
])("of %d places these are named: %j", (count, places) => {
  expect(namedPlaces(count, 6)).toEqual(places);
});
