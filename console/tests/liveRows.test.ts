import { expect, test } from "vitest";
import type { ExecutionsQuery } from "../graphql/generated/types";
import { fits, withChange } from "../screens/executions/liveRows";

type Row = ExecutionsQuery["executions"]["nodes"][number];

function row(id: string, hour: number, more: Partial<Row> = {}): Row {
  return {
    id,
    state: "SUCCESS",
    stateMessage: null,
    createdAt: `2026-11-24T${String(hour).padStart(2, "0")}:00:00.000Z`,
    createdBy: "ana",
    readyAt: null,
    startedAt: null,
    finishedAt: null,
    durationSeconds: null,
    pipelineVersion: 1,
    tags: [{ key: "Material", value: "Energy/Gas" }],
    input: { name: null },
    progress: null,
    pipeline: { id: "p", name: "P", owner: "/usa" },
    ...more,
  };
}

function page(hasNextPage: boolean, ...nodes: Row[]): ExecutionsQuery {
  return { executions: { nodes, pageInfo: { hasNextPage, endCursor: null } } };
}

const ids = (pages: ExecutionsQuery[]) =>
  pages.map(({ executions }) => executions.nodes.map(({ id }) => id).join(""));

test("a new row comes to its place, a known one is replaced there", () => {
  const pages = [page(true, row("d", 8), row("c", 6)), page(true, row("b", 4), row("a", 2))];
  expect(ids(withChange(pages, "e", row("e", 9)))).toEqual(["edc", "ba"]);
  expect(ids(withChange(pages, "x", row("x", 5)))).toEqual(["dc", "xba"]);
  const [, changed] = withChange(pages, "b", row("b", 4, { state: "FAILED" }));
  expect(changed?.executions.nodes[0]?.state).toBe("FAILED");
});

test("a row that is gone leaves the list, one behind the pages read so far does not enter it", () => {
  const pages = [page(true, row("b", 4), row("a", 2))];
  expect(ids(withChange(pages, "b", null))).toEqual(["a"]);
  expect(ids(withChange(pages, "x", row("x", 1)))).toEqual(["ba"]);
  expect(ids(withChange([page(false)], "x", row("x", 1)))).toEqual(["x"]);
});

test("rows of another state, pipeline, creator, time, duration or tag do not fit", () => {
  const one = row("a", 4);
  expect(fits(one, {})).toBe(true);
  expect(fits(one, { states: ["FAILED"] })).toBe(false);
  expect(fits(one, { states: ["FAILED", "SUCCESS"] })).toBe(true);
  expect(fits(one, { pipeline: "q" })).toBe(false);
  expect(fits(one, { createdBy: "bob" })).toBe(false);
  expect(fits(one, { from: "2026-11-24T05:00:00.000Z" })).toBe(false);
  expect(fits(one, { to: "2026-11-24T04:00:00.000Z" })).toBe(false);
  const over = row("b", 4, { finishedAt: "2026-11-24T05:00:00.000Z", durationSeconds: 1.5 });
  expect(fits(one, { duration: { atLeast: 0 } })).toBe(false);
  expect(fits(over, { duration: { atLeast: 1.5, atMost: 1.5 } })).toBe(true);
  expect(fits(over, { duration: { atLeast: 1.501 } })).toBe(false);
  expect(fits(over, { duration: { atMost: 1.499 } })).toBe(false);
  expect(fits(one, { tags: { all: [{ key: "material", value: "energy" }] } })).toBe(true);
  expect(fits(one, { tags: { all: [{ key: "material", value: "ener" }] } })).toBe(false);
});
