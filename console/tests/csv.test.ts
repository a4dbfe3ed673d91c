import { expect, test } from "vitest";
import { decodeHead, headerProblems, packedKind, readCsv, readFile, toRows } from "../parts/csv";

const PARAMETERS = [
  { key: "date", label: "Date", required: true },
  { key: "activity", label: "Activity", required: true },
];

test("quoted fields hold commas, line ends and doubled quotes", () => {
  expect(readCsv('a,"b, ""c""\r\nd"\r\n1,2\n', 10)).toEqual([
    ["a", 'b, "c"\r\nd'],
    ["1", "2"],
  ]);
});

test("a mark of byte order and blank lines are left out, and the last line may lack its end", () => {
  expect(readCsv("\uFEFFa,b\n\n1,", 10)).toEqual([
    ["a", "b"],
    ["1", ""],
  ]);
});

test("no more records are read than are asked for", () => {
  expect(readCsv("1\n2\n3\n", 2)).toEqual([["1"], ["2"]]);
  expect(readCsv("", 2)).toEqual([]);
});

test("a header names every parameter once, by key or by label", () => {
  expect(headerProblems(["activity", "Date"], PARAMETERS)).toEqual([]);
  expect(headerProblems(["Date", "date", "More"], PARAMETERS)).toEqual([
    "“date” stands for a parameter twice.",
    "The pipeline has no parameter “More”.",
    "The column “Activity” is missing.",
  ]);
});

test("a label that several parameters share names none of them", () => {
  const shared = [
    { key: "a", label: "Same", required: true },
    { key: "b", label: "Same" },
  ];
  expect(headerProblems(["Same", "b"], shared)).toEqual([
    "The pipeline has no parameter “Same”.",
    "The column “Same” is missing.",
  ]);
});

test("a pipeline without parameters takes any header", () => {
  expect(headerProblems(["whatever"], [])).toEqual([]);
});

test("rows are objects, and an empty field is null", () => {
  expect(toRows([["a", "b"], ["1", ""], ["2"]], [])).toEqual([
    { a: "1", b: null },
    { a: "2", b: null },
  ]);
});

test.each([",", ";", "\t", "|"])("a file separated by “%s” is read, in any letter case", (one) => {
  const text = [
    ["ACTIVITY", "date"],
    ["1,5", "2/2/21"],
  ]
    .map((fields) => fields.map((field) => `"${field}"`).join(one))
    .join("\n");
  const records = readFile(text, 10, PARAMETERS);
  expect(headerProblems(records[0] ?? [], PARAMETERS)).toEqual([]);
  expect(toRows(records, PARAMETERS)).toEqual([{ activity: "1,5", date: "2/2/21" }]);
});

test("a file of rejected rows is read without what tells why they were rejected", () => {
  const text = "row,column,code,message,Date,Activity\n3,activity,C,m,2/2/21,5\n3,date,C,m,,\n";
  const records = readFile(text, 10, PARAMETERS);
  expect(headerProblems(records[0] ?? [], PARAMETERS)).toEqual([]);
  expect(toRows(records, PARAMETERS)).toEqual([{ date: "2/2/21", activity: "5" }]);
});

test("columns with the names of those of rejected rows stay where only they name a parameter", () => {
  const text = "row,column,code,message,Date\n1,a,C,m,2/2/21\n";
  expect(readFile(text, 10, [...PARAMETERS, { key: "code" }])[1]).toHaveLength(5);
  expect(readFile("row,column,code,message\n1,a,C,m\n", 10, [])[1]).toHaveLength(4);
});

test("a heading that two parameters have in other letter case names none of them", () => {
  const parameters = [{ key: "KWH" }, { key: "kwh" }];
  expect(headerProblems(["kWh", "kwh"], parameters)).toContain(
    "The pipeline has no parameter “kWh”.",
  );
});

test("columns that no parameter names may be ignored, and optional ones absent", () => {
  const parameters = [{ key: "kwh", required: true }, { key: "note" }];
  expect(headerProblems(["kwh", "plant"], parameters, "IGNORE")).toEqual([]);
  expect(headerProblems(["plant"], parameters, "IGNORE")).toEqual([
    "The column “kwh” is missing.",
    "The column “note” is missing.",
  ]);
  expect(headerProblems(["kwh", "plant"], parameters)).toEqual([
    "The pipeline has no parameter “plant”.",
  ]);
});

test("the first bytes of a file tell its encoding", () => {
  const utf16 = Array.from("é,b").flatMap((letter) => [letter.charCodeAt(0), 0]);
  expect(decodeHead(new Uint8Array([0xff, 0xfe, ...utf16]))).toBe("é,b");
  expect(decodeHead(new Uint8Array([0x61, 0x2c, 0xe9]))).toBe("a,é");
  expect(decodeHead(new TextEncoder().encode("a,é"))).toBe("a,é");
  expect(decodeHead(new TextEncoder().encode("a,b"))).toBe("a,b");
});

test("what only the server reads is told by its first bytes", () => {
  expect(packedKind(new Uint8Array([0x1f, 0x8b, 8]))).toBe("gzip");
  expect(packedKind(new TextEncoder().encode("PK\u0003\u0004"))).toBe("Excel");
  expect(packedKind(new TextEncoder().encode("PAR1"))).toBe("Parquet");
  expect(packedKind(new TextEncoder().encode("a,b"))).toBe(null);
});
