import { expect, test } from "vitest";
import type { ConditionsFragment, RuleFactsFragment } from "../graphql/generated/types";
import { describeChange } from "../screens/audio/NameChange";
import {
  CONDITION_NAMES,
  CONDITIONS,
  describeFilter,
  draftOf,
  isDeep,
  newCondition,
  ruleInput,
} from "../screens/audio/rules";

const NOTHING: ConditionsFragment = {
  genres: [],
  artists: [],
  albums: [],
  titleStartsWith: null,
  titleContains: null,
  path: null,
  fromYear: null,
  toYear: null,
  favourite: null,
  minRating: null,
  maxRating: null,
  minPlays: null,
  maxPlays: null,
  playedSince: null,
  playedWithinDays: null,
  addedSince: null,
  addedWithinDays: null,
};
const EVERYTHING = {
  genres: ["Rock", "Folk, and more"],
  artists: ["Ann"],
  albums: ["Live"],
  titleStartsWith: "The ",
  titleContains: "b c",
  path: "a/",
  fromYear: 1990,
  toYear: 0,
  favourite: false,
  minRating: 0,
  maxRating: 5,
  minPlays: 1,
  maxPlays: 0,
  playedSince: "2026-02-03T04:05:06.789Z",
  playedWithinDays: 7,
  addedSince: "2026-02-03T00:00:00.000Z",
  addedWithinDays: 30,
};

function ruleWith(filter: Partial<RuleFactsFragment["filter"]>): RuleFactsFragment {
  const whole = { ...NOTHING, anyOf: [], noneOf: [], ...filter };
  return { order: "RANDOM", seed: "monday", limit: 7, filter: whole };
}

test("a rule is written as it was read, with every condition", () => {
  const inner = { ...NOTHING, favourite: true, anyOf: [], noneOf: [] };
  const rule = ruleWith({ ...EVERYTHING, anyOf: [inner], noneOf: [inner, inner] });
  expect(Object.keys(EVERYTHING).sort()).toEqual([...CONDITION_NAMES].sort());
  expect(ruleInput(draftOf(rule))).toEqual({
    order: "RANDOM",
    seed: "monday",
    limit: 7,
    filter: {
      ...EVERYTHING,
      anyOf: [{ favourite: true }],
      noneOf: [{ favourite: true }, { favourite: true }],
    },
  });
  expect(ruleInput(draftOf(ruleWith({}))).filter).toEqual({});
});

test("a seed is written for the order by chance only", () => {
  const draft = draftOf(ruleWith({}));
  expect(ruleInput({ ...draft, order: "TITLE" }).seed).toBeNull();
  expect(ruleInput({ ...draft, seed: "" }).seed).toBeNull();
});

test("a name that is still typed counts, and an empty one does not", () => {
  const draft = draftOf(ruleWith({}));
  const filter = {
    ...draft.filter,
    conditions: [{ ...newCondition("genres"), value: ["Rock", " Jazz "] }],
  };
  expect(ruleInput({ ...draft, filter }).filter).toEqual({ genres: ["Rock", "Jazz"] });
  expect(ruleInput(draftOf(ruleWith({ genres: ["Rock"] }))).filter).toEqual({ genres: ["Rock"] });
});

test("a rule is told in words, one for each condition", () => {
  const favourite = { ...NOTHING, favourite: true, anyOf: [], noneOf: [] };
  const rated = { ...NOTHING, minRating: 4, maxPlays: 0, anyOf: [], noneOf: [] };
  const rule = ruleWith({ genres: ["Rock", "Jazz"], anyOf: [favourite, rated], noneOf: [rated] });
  expect(describeFilter(draftOf(rule).filter)).toEqual([
    "Genre: Rock or Jazz",
    "one of: Favourite: yes; or Rating, lowest: 4, Never played",
    "none of: Rating, lowest: 4, Never played",
  ]);
  expect(new Set(CONDITION_NAMES.map((name) => CONDITIONS[name].words)).size).toBe(17);
});

test("a filter within the filter of a filter is deep", () => {
  const inner = { ...NOTHING, favourite: true, anyOf: [], noneOf: [{ path: null }] };
  expect(isDeep(ruleWith({ noneOf: [inner] }))).toBe(true);
  expect(isDeep(ruleWith({ noneOf: [{ ...inner, noneOf: [] }] }))).toBe(false);
});

test.each([
  [null, "No other artist has this name. 1 track of Ann will be of Anna."],
  [
    { id: "1", name: "Ann", count: 1 },
    "It stays the same artist; the spelling changes in 1 track.",
  ],
  [{ id: "2", name: "Anna", count: 3 }, "There is an artist Anna already, with 3 tracks."],
])("what a new name does is said before: %o", (holder, words) => {
  const thing = { noun: "artist", id: "1", name: "Ann", artistName: "", count: 1 } as const;
  expect(describeChange(thing, { name: "Anna", artistName: "" }, holder)[0]).toBe(words);
});
