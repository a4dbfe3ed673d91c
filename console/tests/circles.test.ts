import { expect, test } from "vitest";
import { findCircle } from "../findCircle.mjs";

test("files that import each other through a third one are a circle, and a diamond is none", () => {
  const diamond: [string, string[]][] = [
    ["top", ["left", "right"]],
    ["left", ["bottom"]],
    ["right", ["bottom"]],
    ["bottom", []],
  ];
  expect(findCircle(new Map(diamond))).toBeUndefined();
  expect(findCircle(new Map([...diamond, ["bottom", ["left"]]]))).toEqual([
    "left",
    "bottom",
    "left",
  ]);
  expect(findCircle(new Map([["alone", ["alone"]]]))).toEqual(["alone", "alone"]);
});
