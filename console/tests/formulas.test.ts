import { expect, test } from "vitest";
import { callsOf, cutFormula, timePatterns } from "../parts/formulas";

test.each([
  "#miles_to_kilometres(:miles)*:tonnes*0.062",
  "IF(COALESCE(:passengers,0)>0,IMPACT('cars',:type),'it\\'s')",
  "'never closed",
  "",
])("the pieces of a formula are the formula: %s", (formula) => {
  expect(
    cutFormula(formula)
      .map(({ text }) => text)
      .join(""),
  ).toBe(formula);
});

test("calculations and datasets are found where they are called", () => {
  const formulas = [
    "#b(#a(:x), 1) + IMPACT('vehicles', :Fuel type, 'co2')",
    "LOOKUP('fuels', IN(:fuel)) + LOOKUP(:gas, 'factors', 'fuel', 'factor')",
    "LOOKUP('short', :x, version=2) + '#c(1)'",
  ];
  expect(callsOf(formulas)).toEqual({
    calculations: ["a", "b"],
    datasets: ["factors", "fuels", "short", "vehicles"],
  });
});

test("a dataset whose name is computed is not known", () => {
  expect(callsOf(["LOOKUP(:table, :key) + IMPACT(CONCAT('a','b'), 'x', 'y')"]).datasets).toEqual(
    [],
  );
});

test("the patterns of the times that formulas read are found by their parameters", () => {
  const found = timePatterns([
    "AS_TIMESTAMP(:date, 'M/d/yy', roundDownTo='month') + :amount",
    "as_timestamp(:date, 'yyyy-MM-dd\\'T\\'HH')",
    "AS_TIMESTAMP(:date, 'M/d/yy')",
    "AS_TIMESTAMP(CONCAT(:year, '-01'), 'yyyy-MM')",
    "AS_TIMESTAMP(:made, :pattern)",
  ]);
  expect([...found]).toEqual([["date", ["M/d/yy", "yyyy-MM-dd'T'HH"]]]);
});
