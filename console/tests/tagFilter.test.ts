import { expect, test } from "vitest";
import {
  modeOf,
  readFilter,
  readTag,
  toggleKey,
  toggleTag,
  toInput,
  writeFilter,
  writeTag,
} from "../screens/catalogue/tagFilter";

const GAS = { key: "material", value: "energy/gas" };
const EMPTY = { all: [], any: [], none: [], without: [] };

test.each([GAS, { key: "a=b%", value: "=c%3D" }, { key: "größe", value: "" }])(
  "a tag is read as it was written: %o",
  (tag) => {
    expect(readTag(writeTag(tag))).toEqual(tag);
  },
);

test("what is no tag is left out of the filter", () => {
  const search = new URLSearchParams("all=material=energy/gas&all=nonsense&any==x&none=scope=1");
  const scope = { key: "scope", value: "1" };
  expect(readFilter(search)).toEqual({ ...EMPTY, all: [GAS], none: [scope] });
});

test("a filter without a tag is none for the API", () => {
  expect(toInput(EMPTY)).toBeNull();
  expect(toInput({ ...EMPTY, any: [GAS] })).toEqual({ any: [GAS] });
});

test("a tag is in one mode at a time, and choosing it there again takes it out", () => {
  const chosen = toggleTag(EMPTY, "all", GAS);
  expect(modeOf(chosen, GAS)).toBe("all");
  const moved = toggleTag(chosen, "none", GAS);
  expect(moved).toEqual({ ...EMPTY, none: [GAS] });
  expect(toggleTag(moved, "none", GAS)).toEqual(EMPTY);
});

test("what carries a key is left out by the key, not by the values of today", () => {
  const without = toggleKey(toggleTag(EMPTY, "none", GAS), "material");
  expect(without).toEqual({ ...EMPTY, without: ["material"] });
  expect(toInput(without)).toEqual({ withoutKeys: ["material"] });
  const address = new URLSearchParams(
    Object.entries(writeFilter(without)).flatMap(([name, all]) => all.map((one) => [name, one])),
  );
  expect(address.toString()).toBe("without=material");
  expect(readFilter(address)).toEqual(without);
  expect(toggleKey(without, "material")).toEqual(EMPTY);
});
