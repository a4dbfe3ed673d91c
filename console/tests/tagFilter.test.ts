import { expect, test } from "vitest";
import {
  modeOf,
  readFilter,
  readTag,
  toggleTag,
  toInput,
  writeTag,
} from "../screens/catalogue/tagFilter";

const GAS = { key: "material", value: "energy/gas" };
const EMPTY = { all: [], any: [], none: [] };

test.each([GAS, { key: "a=b%", value: "=c%3D" }, { key: "größe", value: "" }])(
  "a tag is read as it was written: %o",
  (tag) => {
    expect(readTag(writeTag(tag))).toEqual(tag);
  },
);

test("what is no tag is left out of the filter", () => {
  const search = new URLSearchParams("all=material=energy/gas&all=nonsense&any==x&none=scope=1");
  expect(readFilter(search)).toEqual({ all: [GAS], any: [], none: [{ key: "scope", value: "1" }] });
});

test("a filter without a tag is none for the API", () => {
  expect(toInput(EMPTY)).toBeNull();
  expect(toInput({ ...EMPTY, any: [GAS] })).toEqual({ any: [GAS] });
});

test("a tag is in one mode at a time, and choosing it there again takes it out", () => {
  const chosen = toggleTag(EMPTY, "all", GAS);
  expect(modeOf(chosen, GAS)).toBe("all");
  const moved = toggleTag(chosen, "none", GAS);
  expect(moved).toEqual({ all: [], any: [], none: [GAS] });
  expect(toggleTag(moved, "none", GAS)).toEqual(EMPTY);
});
