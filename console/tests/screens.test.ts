import { expect, test } from "vitest";
import { placeAfter } from "../screens/audio/PlaylistEntries";
import { covers, describeRole, effectiveRole, topGroups } from "../screens/groups/roles";
import { describeSight } from "../screens/pipeline/sight";
import { readTypes, safeSteps } from "../screens/manifest/RunSteps";
import { joinSamples } from "../screens/sensors/SampleChart";

const ROLES = [
  { group: "/usa", role: "READER" },
  { group: "/usa/northwest", role: "ADMIN" },
  { group: "/eu", role: "CONTRIBUTOR" },
];

test("a role holds at its group and below, and the strongest one counts", () => {
  expect(effectiveRole(ROLES, "/usa/northwest/plant")).toEqual(ROLES[1]);
  expect(effectiveRole(ROLES, "/usa/south")).toEqual(ROLES[0]);
  expect(effectiveRole(ROLES, "/usable")).toBeNull();
  expect(covers("/", "/eu")).toBe(true);
});

test("a role is explained by what it allows and who gave it", () => {
  expect(describeRole({ group: "/", role: "ADMIN" }, "/eu")).toBe(
    "You may change what this group has, and decide who sees it: your sign-in gives you the role admin at /, which holds in all groups below.",
  );
  expect(describeRole({ group: "/eu", role: "READER" }, "/eu")).toBe(
    "You may read what this group sees: your sign-in gives you the role reader here.",
  );
  expect(describeRole(null, "/")).toBe("You have no role here, only in a group below.");
});

test("a group sees a pipeline because it is its own, or was shared with it or a group above", () => {
  const owner = "/usa";
  expect(describeSight("/usa", { owner, grantedThrough: "/usa" })).toBe(
    "Your group /usa sees it because it belongs to /usa.",
  );
  expect(describeSight("/usa/south", { owner, grantedThrough: "/usa" })).toBe(
    "Your group /usa/south sees it because it belongs to /usa, and what a group sees is seen by all groups below it.",
  );
  expect(describeSight("/eu", { owner, grantedThrough: "/eu" })).toBe(
    "Your group /eu sees it because /usa shared it with /eu.",
  );
  expect(describeSight("/eu", { owner, grantedThrough: null })).toBe(
    "It is not shared with your group /eu; you see it by a role in another group.",
  );
});

test("the tree begins at the groups that no other one covers", () => {
  expect(topGroups(ROLES)).toEqual(["/eu", "/usa"]);
});

test.each([
  [0, 2, "c"],
  [2, 0, null],
  [2, 1, "a"],
  [1, 1, undefined],
  [0, -1, undefined],
  [2, 3, undefined],
])("an entry that moves from %d to %d stands after %s", (from, to, after) => {
  expect(placeAfter(["a", "b", "c"], from, to)).toBe(after);
});

test("the steps that are offered are those that the state allows", () => {
  const failed = ["retry", "recover", "reset", "skip"];
  expect(safeSteps({ state: "FAILED", toSkip: false })).toEqual(failed);
  expect(safeSteps({ state: "GIVEN_UP", toSkip: false })).toEqual(failed);
  expect(safeSteps({ state: "NEW", toSkip: true })).toEqual(["recover", "reset", "unskip"]);
  expect(safeSteps({ state: "PROCESSED", toSkip: false })).toEqual(["skip"]);
  expect(safeSteps({ state: "LOADED", toSkip: false })).toEqual([]);
});

test("samples are drawn in the order of time, each once", () => {
  const at = (second: number, number: string) => ({
    time: `2026-11-23T10:00:0${second}Z`,
    number,
  });
  expect(joinSamples([at(2, "2"), at(1, "1")], [at(2, "2"), at(3, "3")])).toEqual([
    at(1, "1"),
    at(2, "2"),
    at(3, "3"),
  ]);
});

test("shredded types are typed with commas or spaces between them", () => {
  expect(readTypes(" iglu:a/b, iglu:c/d  e,")).toEqual(["iglu:a/b", "iglu:c/d", "e"]);
  expect(readTypes("")).toEqual([]);
});
