"""The page on the language agrees with the code."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from penstock.formula.checking.check import Surroundings
from penstock.formula.core import limits
from penstock.formula.core.datasets import LATEST, DatasetRows, InMemoryDatasets
from penstock.formula.core.errors import FormulaCode, FormulaFailure, FormulaInvalid
from penstock.formula.core.values import FormulaParameter, Value, text_of
from penstock.formula.evaluate import compile_formula
from penstock.formula.functions.catalogue import FUNCTIONS, UNSUPPORTED
from penstock.formula.functions.locales import LOCALES
from penstock.formula.functions.unit_table import UNITS
from tests.formula.formula_values import BOOLEAN, NUMBER, STRING, SampleCalculations

PAGE = (Path(__file__).parents[2] / "docs" / "formula.md").read_text("utf-8")
BLOCKS = re.findall(r"```formula\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    tuple(part.strip() for part in line.rsplit("=>", 1))
    for block in BLOCKS
    for line in block.splitlines()
]
SURROUNDINGS = Surroundings(
    (
        FormulaParameter("distance", NUMBER),
        FormulaParameter("passengers", NUMBER),
        FormulaParameter("fuel", STRING),
        FormulaParameter("Fuel type", STRING),
        FormulaParameter("empty", STRING),
        FormulaParameter("nothing", STRING, required=False),
        FormulaParameter("ok", BOOLEAN),
        FormulaParameter("json", STRING),
    ),
    library=SampleCalculations(double=((FormulaParameter("x", NUMBER),), ":x * 2")),
    earlier=frozenset({"total"}),
)
ROW = {
    "distance": Decimal("12.5"),
    "passengers": 3,
    "fuel": "natural gas",
    "Fuel type": "gas",
    "empty": "",
    "ok": True,
    "json": '{"trip":{"legs":[{"km":1.50},{"km":2}],"id":"007"}}',
}
DATA = InMemoryDatasets(
    {
        ("fuels", LATEST): DatasetRows(
            ("fuel", "factor", "code"),
            [("natural gas", Decimal("2.02"), "01"), ("gas", Decimal("2.30"), "02")],
        ),
        ("grid", LATEST): DatasetRows(
            ("region", "year", "factor", "code"),
            [
                ("eu", Decimal(2024), Decimal("0.24"), "x"),
                ("eu", Decimal(2025), Decimal("0.21"), "x"),
            ],
            "region",
            ("year",),
        ),
    },
    {("vehicles", LATEST): {("car", "co2"): Decimal("0.35")}},
)


def format_value(value: Value) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, tuple):
        return f"[{', '.join(map(format_value, value))}]"
    return text_of(value)


@pytest.mark.parametrize(("text", "expected"), EXAMPLES, ids=[example[0] for example in EXAMPLES])
def test_an_example_of_the_page_is_true(text: str, expected: str) -> None:
    try:
        compiled = compile_formula(text.replace("⏎", "\n"), SURROUNDINGS)
        found = format_value(compiled.run(ROW, DATA, {"total": Decimal(40)}))
    except FormulaInvalid as error:
        found = " ".join(f"error {problem.code}" for problem in error.problems)
    except FormulaFailure as failure:
        found = f"error {failure.code}"

    assert found == expected


def test_every_function_has_a_section_with_its_signature() -> None:
    for function in FUNCTIONS.values():
        assert f"\n### {function.name}\n`{function.signature}`" in PAGE, function.name
    for name in UNSUPPORTED:
        assert f"`{name}`" in PAGE


def test_every_code_has_a_row() -> None:
    listed = re.findall(r"^\| `([A-Z_]+)` \|", PAGE.split("\n## Errors\n")[1], re.MULTILINE)

    assert listed == [code.value for code in FormulaCode]


def test_every_limit_has_a_row_with_its_value() -> None:
    listed = dict(re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", PAGE, re.MULTILINE))
    values = {name: str(value) for name, value in vars(limits).items() if name.isupper()}

    assert listed == values


def test_every_unit_has_a_row() -> None:
    for unit in UNITS:
        symbols = ", ".join(f"`{symbol}`" for symbol in unit.symbols)
        assert f"| {unit.kind} | {', '.join(unit.labels)} | {symbols} |" in PAGE, unit.symbols[0]


def test_every_locale_is_named() -> None:
    assert [tag for tag in LOCALES if f"`{tag}`" not in PAGE] == []
