import { expect, test } from "vitest";
import { isWhole, toLocal, toUtc } from "../parts/TimeRange";

test.each([
  ["0002-01-02T09:30", false],
  ["0202-01-02T09:30", false],
  ["2026-01-02T09:30", true],
  ["12026-01-02T09:30", false],
  ["", false],
])("the typed time %s is asked for: %s", (text, whole) => {
  expect(isWhole(text)).toBe(whole);
});

test("a time is the same after it was in the field, and what is none leaves it empty", () => {
  expect(toUtc(toLocal("2026-03-29T01:30:00.000Z"))).toBe("2026-03-29T01:30:00.000Z");
  expect(toLocal(null)).toBe("");
  expect(toLocal("yesterday")).toBe("");
});
