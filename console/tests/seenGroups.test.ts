import { expect, test } from "vitest";
import { matchGroups, readGroup } from "../parts/seenGroups";

const GROUPS = ["/", "/eu", "/usa", "/usa/northwest", "/usa/south", "/usa/southern"].map(
  (path) => ({
    path,
    name: path === "/eu" ? "Northern Europe" : path.slice(path.lastIndexOf("/") + 1),
  }),
);
const SEEN = { groups: GROUPS, isWhole: true };

test("groups are found by any part of their path or name, in any letter case", () => {
  const paths = (typed: string) => matchGroups(GROUPS, typed).map(({ path }) => path);
  expect(paths(" NORTH")).toEqual(["/eu", "/usa/northwest"]);
  expect(paths("usa/s")).toEqual(["/usa/south", "/usa/southern"]);
});

test.each([
  ["", { path: "" }],
  [" /not/there ", { path: "/not/there" }],
  ["northw", { path: "/usa/northwest" }],
  ["south", { path: "/usa/south" }],
  ["northern europe", { path: "/eu" }],
  ["nor", { wrong: "Several groups match: /eu, /usa/northwest. Type more." }],
  ["u", { wrong: "Several groups match: /eu, /usa, /usa/northwest, …. Type more." }],
  ["aus", { wrong: "No group that you see has “aus” in its path or name." }],
])("“%s” stands for %j", (typed, meant) => {
  expect(readGroup(SEEN, typed)).toEqual(meant);
});

test("where not all groups are known, the path is asked for", () => {
  expect(readGroup({ ...SEEN, isWhole: false }, "aus")).toEqual({
    wrong: "None of the first groups has “aus” in its path or name. Type the path, such as /usa.",
  });
});
