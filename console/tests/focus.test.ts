import { expect, test } from "vitest";
import { nextTo } from "../parts/focus";

const place = (...held: string[]) => ({ contains: (one: string) => held.includes(one) });

test("what is after a control that goes has the focus, else what is before it", () => {
  const pills = place("a", "c");
  expect(nextTo([pills], ["a"], ["c", "more"])).toBe("c");
  expect(nextTo([place("a")], ["a"], ["more"])).toBe("a");
});

test("the innermost place that still has a control keeps the focus", () => {
  expect(nextTo([place(), place("more")], ["search"], ["more"])).toBe("more");
  expect(nextTo([], ["search"], ["more"])).toBeUndefined();
});
