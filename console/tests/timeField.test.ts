import { expect, test } from "vitest";
import { nameOfSpan, spanOf } from "../parts/spans";
import { isWhole, toLocal, toUtc } from "../parts/TimeRange";

test.each([
  ["0002-01-02", false],
  ["0202-01-02", false],
  ["2026-01-02", true],
  ["12026-01-02", false],
  ["", false],
])("the typed date %s is asked for: %s", (date, whole) => {
  expect(isWhole(date)).toBe(whole);
});

test("a time is the same after it was in the field, and what is none leaves it empty", () => {
  expect(toUtc(toLocal("2026-03-29T01:30:00.000Z"))).toBe("2026-03-29T01:30:00.000Z");
  expect(toLocal(null)).toEqual({ date: "", time: "" });
  expect(toLocal("yesterday")).toEqual({ date: "", time: "" });
});

test("a date without a time is the start of its day, where the reader is", () => {
  const start = new Date(2026, 2, 1);
  expect(toUtc({ date: "2026-03-01", time: "" })).toBe(start.toISOString());
  expect(toLocal(start.toISOString())).toEqual({ date: "2026-03-01", time: "" });
});

test("spans begin and end with the days, months and years of the reader or of UTC", () => {
  const now = new Date("2026-03-29T01:30:00.000Z");
  expect(spanOf("last year", now, true)).toEqual({
    from: "2025-01-01T00:00:00.000Z",
    to: "2026-01-01T00:00:00.000Z",
  });
  const first = new Date("2026-03-01T12:00:00Z");
  expect(spanOf("yesterday", first, true)).toEqual({
    from: "2026-02-28T00:00:00.000Z",
    to: "2026-03-01T00:00:00.000Z",
  });
  expect(spanOf("this month", now, true)).toEqual({ from: "2026-03-01T00:00:00.000Z", to: null });
  const year = { from: new Date(2026, 0, 1).toISOString(), to: null };
  expect(spanOf("this year", now, false)).toEqual(year);
  expect(nameOfSpan(year, now, false)).toBe("this year");
  expect(nameOfSpan({ from: "2026-01-01T00:00:00Z", to: null }, now, true)).toBe("this year");
  expect(nameOfSpan({ from: null, to: null }, now, true)).toBeNull();
});
