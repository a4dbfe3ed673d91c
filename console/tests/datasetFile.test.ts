import { expect, test } from "vitest";
import { columnsOf, guessType, headerLine, readDatasetFile } from "../screens/editor/datasetFile";
import { newDraft } from "../screens/editor/draft";

test.each([
  [["1", "-2.5", "1e3", ""], "NUMBER"],
  [["007", "12"], "STRING"],
  [["true", "FALSE"], "BOOLEAN"],
  [["true", "1"], "STRING"],
  [["", ""], "STRING"],
  [[], "STRING"],
])("a column of %j is guessed to be %s", (values, type) => {
  expect(guessType(values)).toBe(type);
});

test("columns that are known keep what is said of them, and a key that is gone is the first", () => {
  const known = {
    ...newDraft("/usa"),
    columns: [{ name: "plant", description: "its number", type: "STRING" as const }],
    keyColumns: ["month"],
  };
  expect(columnsOf({ header: ["plant", "factor"], rows: [["1", "2"]] }, known)).toEqual({
    columns: [
      { name: "plant", description: "its number", type: "STRING" },
      { name: "factor", description: "", type: "NUMBER" },
    ],
    keyColumns: ["plant"],
  });
});

test("a header is written as CSV", () => {
  expect(headerLine(["plant", "a, b", 'the "best"'])).toBe('plant,"a, b","the ""best"""\n');
});

test.each([
  ["", ["The file is empty."]],
  ["a;b\n1;2\n", ["Its columns are separated by “;”; those of a dataset are by commas."]],
  ["a,,a\n1,2,3\n", ["Column 2 has no name.", "Two columns are named “a”."]],
  ["a,b\n1,2\n", []],
])("of a file %j it says %j", async (text, problems) => {
  expect((await readDatasetFile(new File([text], "f.csv"))).problems).toEqual(problems);
});

test("a file of more rows than a mutation takes is large", async () => {
  const least = await readDatasetFile(new File(["a\n", "1\n".repeat(50_001)], "f.csv"));
  const most = await readDatasetFile(new File(["a\n", "1\n".repeat(49_999)], "f.csv"));
  expect([least.isLarge, most.isLarge]).toEqual([true, false]);
});

test("a file of Excel is refused before anything is sent", async () => {
  const packed = new File([new Uint8Array([0x50, 0x4b, 0x03, 0x04])], "f.xlsx");
  expect((await readDatasetFile(packed)).problems).toEqual([
    "It is Excel; a dataset is made of a CSV file.",
  ]);
});
