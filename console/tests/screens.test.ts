import { expect, test } from "vitest";
import { placeAfter } from "../screens/audio/PlaylistEntries";
import {
  covers,
  describeRole,
  effectiveRole,
  hasRole,
  mayCreate,
  mayRun,
  topGroups,
} from "../parts/roles";
import documents from "../graphql/generated/documents.json";
import { describePath } from "../parts/describePath";
import { OPERATION_WORDS } from "../screens/system/operationWords";
import { describeQueue } from "../screens/execution/Execution";
import { describeRetries } from "../screens/manifest/ManifestFacts";
import { describeAttempts } from "../screens/manifest/RunLists";
import { describeSight } from "../screens/pipeline/sight";
import { readTypes, safeSteps } from "../screens/manifest/RunSteps";
import { joinSamples } from "../screens/sensors/SampleChart";

const ROLES = [
  { group: "/usa", role: "READER" },
  { group: "/usa/northwest", role: "ADMIN" },
  { group: "/eu", role: "CONTRIBUTOR" },
];

test("a role holds at its group and below, and that of the nearest group counts", () => {
  const lower = [
    { group: "/", role: "ADMIN" },
    { group: "/usa", role: "READER" },
  ];
  expect(effectiveRole(lower, "/usa/south")).toEqual(lower[1]);
  expect(effectiveRole(ROLES, "/usa/northwest/plant")).toEqual(ROLES[1]);
  expect(effectiveRole(ROLES, "/usa/south")).toEqual(ROLES[0]);
  expect(effectiveRole(ROLES, "/usable")).toBeNull();
  expect(covers("/", "/eu")).toBe(true);
});

test("who may change, run and create is what the server checks", () => {
  expect(hasRole(ROLES, "CONTRIBUTOR", "/usa/northwest/plant")).toBe(true);
  expect(hasRole(ROLES, "CONTRIBUTOR", "/usa")).toBe(false);
  expect(hasRole(ROLES, "READER", "/asia")).toBe(false);
  expect(mayCreate(ROLES)).toBe(true);
  expect(mayCreate([{ group: "/", role: "READER" }])).toBe(false);
  const reader = [{ group: "/usa", role: "READER" }];
  expect(mayRun(reader, { owner: "/usa", groups: ["/usa"] })).toBe(false);
  // What is granted to a group is run by the contributors of groups below it.
  expect(mayRun(ROLES, { owner: "/usa", groups: ["/usa"] })).toBe(true);
  expect(mayRun(ROLES, { owner: "/asia", groups: ["/asia", "/eu"] })).toBe(true);
  expect(mayRun(ROLES, { owner: "/asia", groups: ["/asia"] })).toBe(false);
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
  const [owner, groups] = ["/usa", ["/usa"]];
  expect(describeSight("/usa", { owner, groups, grantedThrough: "/usa" }, ROLES)).toBe(
    "Your group /usa sees it because it belongs to /usa.",
  );
  expect(describeSight("/usa/south", { owner, groups, grantedThrough: "/usa" }, ROLES)).toBe(
    "Your group /usa/south sees it because it belongs to /usa, and what a group sees is seen by all groups below it.",
  );
  expect(describeSight("/eu", { owner, groups, grantedThrough: "/eu" }, ROLES)).toBe(
    "Your group /eu sees it because /usa shared it with /eu.",
  );
  expect(describeSight("/eu", { owner, groups, grantedThrough: null }, ROLES)).toBe(
    "It is not shared with your group /eu; you see it by your role reader at /usa.",
  );
  expect(describeSight("/eu", { owner: "/asia", groups: [], grantedThrough: null }, ROLES)).toBe(
    "It is not shared with your group /eu; you see it by another role.",
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

test.each([
  ["/transformer/transforms/0/formula", "transform 1, formula"],
  ["/transformer/transforms/1/outputs/0/label", "transform 2, output, label"],
  ["/transformer/parameters/2", "parameter 3"],
  ["/transformer/extraColumns", "extra columns"],
  ["/transformer/rows/key/0", "rows, key 1"],
  ["/description", "description"],
  ["formulas.1.formula", "formula 1, formula"],
  ["/draft/transforms/1/formula", "transform 2, formula"],
])("the path %s of a change is told in words", (path, words) => {
  expect(describePath(path)).toBe(words);
});

test("an execution tells how many wait longer", () => {
  expect(describeQueue(null)).toBe("Waits for a worker.");
  expect(describeQueue(0)).toBe("Waits for a worker, as the next one.");
  expect(describeQueue(1)).toBe("Waits for a worker; 1 other waits longer.");
  expect(describeQueue(7)).toBe("Waits for a worker; 7 others wait longer.");
});

test("a manifest tells how its failed runs are tried again, a run how often it was", () => {
  expect(describeRetries(null)).toBe(
    "Workers may claim a failed run at once, and as often as they like.",
  );
  const rules = { maxAttempts: 5, firstDelaySeconds: 30, longestDelaySeconds: 3600 };
  expect(describeRetries(rules)).toBe(
    "A failed run is tried again after 30 s, then later and later, after at most 1 h 0 min. It is given up after 5 attempts.",
  );
  expect(describeAttempts({ state: "LOADED", attempt: 1 })).toBe("");
  expect(describeAttempts({ state: "FAILED", attempt: 2 })).toBe("; attempt 2");
  expect(describeAttempts({ state: "GIVEN_UP", attempt: 5 })).toBe("; given up after 5 attempts");
});

test("each operation of the console is told in words where its cost stands", () => {
  const names = Object.values(documents).map((text) => /^\w+ (\w+)/.exec(text)?.[1] ?? "");
  expect(Object.keys(OPERATION_WORDS).sort()).toEqual([...new Set(names)].sort());
});
