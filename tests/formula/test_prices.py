"""The worst input of each kind of work costs about as much as it takes.

A unit of the rate limit is some 50 microseconds, and the yardstick of these tests some 10
milliseconds, so that a unit is about 0.005 yardsticks. Much slower machines change both alike.
"""

# ruff: noqa: E501 - a table reads best with a row on a line

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise, product
from typing import Any

import pytest

from penstock.datastore.access.work import step_units, text_units
from penstock.formula.checking.check import Surroundings
from penstock.formula.core.errors import FormulaCode
from penstock.formula.core.limits import MAX_BATCH_WORK, WorkMeter
from penstock.formula.core.values import FormulaParameter, ValueKind
from penstock.formula.evaluate import compile_formula, steps_of
from penstock.formula.functions.catalogue import FUNCTIONS, Function
from tests.formula.formula_values import NUMBER, STRING
from tests.support.processor_time import yardsticks

LONG = 32_000
MOST_YARDSTICKS = 0.05
"""The most that a unit may take: ten times as much as it should."""

LEAST_UNITS = 40
"""Rows are repeated until they cost so much, since the time of a single one is too short."""

WORST: dict[str, tuple[str, dict[str, Any]]] = {
    "products of many digits": ("MAX(" + ",".join([":n*:m"] * 300) + ")", {"n": "7" * 500, "m": "3" * 500}),
    "numbers of texts": ("MAX(" + ",".join(["NUMBER(:s)"] * 300) + ")", {"s": "9" * 999}),
    "pieces of a text": ("SEARCH(SPLIT(:s, ',')[0], 'x')", {"s": "," * LONG}),
    "lists as texts": ("SET :l = SPLIT(:s, ',')\nMAX(" + ",".join(["LEN(CONCAT(:l))"] * 12) + ")", {"s": ",a" * 5_000}),
    "characters of a text": ("SEARCH(SPLIT(:s, '')[0], 'x')", {"s": "a" * 10_000}),
    "matches in a text": ("SEARCH(SPLIT(:s, '[,]')[0], 'x')", {"s": "é," * 5_000}),
    "patterns with more states than are kept": ("SEARCH(SPLIT(:s, '.{0,99}.{0,99}z')[0], 'x')", {"s": "😀" * 5_000}),
    "cases of texts": ("SWITCH(:s," + ",".join([":t,1"] * 200) + ",default=1)", {"s": "é" * LONG, "t": "é" * (LONG - 1) + "x"}),
    "the order of texts": ("MAX(" + ",".join(["IF(:s < :t, 1, 2)"] * 150) + ")", {"s": "é" * LONG, "t": "é" * (LONG - 1) + "一"}),
    "equal texts": ("MAX(" + ",".join(["IF(:s == :t, 1, 2)"] * 150) + ")", {"s": "😀" * LONG, "t": "😀" * (LONG - 1) + "x"}),
    "cases of any case": ("SWITCH(:s,:t,1,ignoreCase=true,default=2)", {"s": "İ" * LONG, "t": "i" * LONG}),
    "cases of numbers": ("SWITCH(:n," + ",".join([":m,1"] * 200) + ",default=1)", {"n": "7e9000", "m": "7e9001"}),
    "parts of any case": ("SEARCH(:s, 'x', ignoreCase=true)", {"s": "İ" * LONG}),
    "elements of JSON": ("SEARCH(GET_VALUE(:s, '$[*]')[0], 'x')", {"s": "[" + ",".join(['"\\u00e9"'] * 3_600) + "]"}),
    "numbers of JSON": ("GET_VALUE(:s, '$[0]') + 1", {"s": "[" + ",".join(["1"] * 16_000) + "]"}),
    "JSON within JSON": ("SEARCH(GET_VALUE(:s, '$..x')[0], 'q')", {"s": '{"x":' * 60 + "1" + "}" * 60}),
    "paths that lead nowhere": ("SEARCH(CONCAT(" + ",".join(["GET_VALUE('[]', :s)"] * 200) + "), 'x')", {"s": "$[*]" + ".a" * 98}),
    "remainders": ("MAX(" + ",".join(["MOD(:n,:m)"] * 200) + ")", {"n": "7" * 900, "m": "3" * 450}),
    "remainders of long quotients": ("MAX(" + ",".join(["MOD(:n,:m)"] * 200) + ")", {"n": "7" * 1_000 + "e999", "m": "3" * 1_000}),
    "logarithms": ("MAX(" + ",".join(["LOG(:n, 3)"] * 200) + ")", {"n": "7" * 900}),
    "roots": ("MAX(" + ",".join(["SQRT(:n)"] * 200) + ")", {"n": "7" * 900}),
    "a text that begins like the needle everywhere": ("MAX(" + ",".join(["SEARCH(:s, :t)"] * 100) + ")", {"s": "一" * 2_400, "t": "一" * 1_200 + "b一"}),
    "a needle that is not replaced": ("MAX(" + ",".join(["LEN(REPLACE(:s, :t, ''))"] * 40) + ")", {"s": "一" * 2_400, "t": "一" * 1_200 + "b一"}),
    "replaced texts": ("SEARCH(REPLACE(:s, 'a', 'b'), 'x')", {"s": "a" * LONG}),
    "arguments": ("MAX(" + ",".join([":n"] * 900) + ")", {"n": "1.5"}),
    "dates": ("AS_TIMESTAMP(:s, 'd/M/yyyy', timezone='Europe/Berlin', roundDownTo='quarter')", {"s": "2/3/2021"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WORST)
def test_the_worst_input_costs_about_as_much_as_it_takes(name: str) -> None:
    text, values = WORST[name]
    row = {key: Decimal(value) if key in {"n", "m"} else value for key, value in values.items()}
    kinds = {"n": NUMBER, "m": NUMBER, "s": STRING, "t": STRING}
    parameters = tuple(FormulaParameter(key, kinds[key]) for key in row)
    compiled = compile_formula(text, Surroundings(parameters))

    def units(rows: int) -> int:
        work = WorkMeter()
        results = compiled.run_all([row] * rows, work=work)
        assert results.errors == ()
        return step_units(steps_of(compiled, rows)) + text_units(work.take_spent())

    rows = 1
    while units(rows) < LEAST_UNITS:
        rows *= 2
    bound = MOST_YARDSTICKS * units(rows)
    assert yardsticks(lambda: compiled.run_all([row] * rows), bound) < bound


@pytest.mark.parametrize(
    ("formula", "left", "right", "work"),
    [
        (":s == :t", "😀" * LONG, "😀" * LONG, 320),
        (":s != :t", "a" * LONG, "a" * (LONG - 1) + "b", 320),
        (":s == :t", "a" * LONG, "a" * (LONG - 1), 0),
        (":s == :t", "a" * 10, "b" * 10, 0),
        (":s < :t", "é" * LONG, "é" * 16_000 + "一", 1_000),
        ("'a' >= :s", "é" * LONG, "", 0),
        ("SWITCH(:s, :t, true, default=false)", "😀" * LONG, "😀" * LONG, 320),
        ("SWITCH(:s, :t, true, default=false)", "😀" * LONG, "", 0),
    ],
)
def test_long_texts_that_are_compared_cost_their_characters(
    formula: str, left: str, right: str, work: int
) -> None:
    parameters = (FormulaParameter("s", STRING), FormulaParameter("t", STRING))
    compiled = compile_formula(formula, Surroundings(parameters))
    meter = WorkMeter()
    assert compiled.run_all([{"s": left, "t": right}] * 3, work=meter).errors == ()
    assert meter.take_spent() == 3 * work


USUAL: dict[str, str] = {
    "number": "1", "base": "2", "dividend": "1", "divisor": "2", "places": "1", "start": "0", "length": "1", "end": "9", "moment": "0", "limit": "2",
    "text": "'a'", "needle": "'b'", "replacement": "'c'", "first": "'a'", "value": "'a'", "case": "'b'", "result": "1", "default": "2", "ignoreCase": "true",
    "json": "'[1]'", "path": "'$[*]'", "regex": "','", "pattern": "'yyyy'", "source": "'kg'", "target": "'g'", "qualityKind": "'Mass'", "quantityKind": "'Mass'",
    "unit": "'day'", "part": "'day'", "timezone": "'UTC'", "locale": "'en'", "roundDownTo": "'day'", "other": "'a'", "otherwise": "'a'", "then": "'a'", "condition": "true",
}  # fmt: skip
"""An argument or an option by the name of its slot."""


def calls_with_a_text(function: Function) -> Iterator[str]:
    """Calls of a function with the text of a row in the place of each text, by itself."""
    slots = [*function.slots, *function.options]
    for place, slot in enumerate(slots):
        if ValueKind.TEXT not in slot.kinds:
            continue
        given = [":s" if n == place else USUAL[one.name] for n, one in enumerate(slots)]
        count = len(function.slots)
        named = [f"{slots[n].name}={given[n]}" for n in range(count, len(slots))]
        yield f"{function.name}({', '.join([*given[:count], *named])})"


CALLS = [
    call for one in FUNCTIONS.values() if one.run is not None for call in calls_with_a_text(one)
]
LONGEST_ROW = 0.003
"""The most yardsticks of a row that is refused at once, which takes longer than its steps."""


NAMELESS: dict[str, str] = {
    "letters": "İ" * LONG,
    "digits": "1" * 1_990,
    "spaces": "1" + " " * 1_990,
}
"""The begin of a text that names nothing; numbers are looked for in shorter texts."""


@pytest.mark.parametrize("begin", NAMELESS)
@pytest.mark.parametrize("call", CALLS)
def test_a_text_that_names_nothing_costs_about_as_much_as_it_takes(call: str, begin: str) -> None:
    compiled = compile_formula(call, Surroundings((FormulaParameter("s", STRING),)))
    count, work = 32, WorkMeter()
    # Each row has a text of its own, since Python remembers the hash of one.
    rows, more = ([{"s": NAMELESS[begin] + f"{n}{end}"} for n in range(count)] for end in "ab")
    assert len(compiled.run_all(rows, work=work).values) == count
    units = step_units(steps_of(compiled, count)) + text_units(work.take_spent())
    bound = MOST_YARDSTICKS * units + LONGEST_ROW * count
    assert yardsticks(lambda: compiled.run_all(more), bound) < bound


CONVERTING = "CONVERT(1, :s, 'kg')"
SPLITTING = "SEARCH(SPLIT('a', :s)[0], 'x')"
PATTERNS: dict[str, tuple[str, str]] = {
    "classes of letters": (SPLITTING, "(?i)" + r"\pL" * 62),
    "other classes": (SPLITTING, "(?i)" + r"\PN" * 63),
    "classes that no match needs": (SPLITTING, "(?:(?i)" + r"\pL" * 60 + "){0}"),
    "repetitions that are too many": (SPLITTING, r"((.?){30}){30}|\pL"),
    "ranges": (SPLITTING, "(?i)" + "[\u0100-\U0010ffff]" * 37),
    "what is not closed": (SPLITTING, "(?i)" + r"\pL" * 62 + "("),
    "names of days": ("AS_TIMESTAMP('x', :s)", "EEEE " * 36),
    "products of units": (CONVERTING, "kg·kg·kg·g·g·g·t·"),
    "quotients of units": (CONVERTING, "kilogram*kilogram/(kilogram*kilogram*gram)/"),
    "products of units by their codes": (CONVERTING, "KiloGM-GM-LB-TONNE-OZ-GM-LB-"),
    "names that are no units": (CONVERTING, "- " * 36),
    "paths that lead nowhere": ("GET_VALUE('[]', :s)", "$[*]" + ".a" * 94 + "."),
    "what is no path": ("GET_VALUE('[]', :s)", "$[*]" + ".a" * 93 + "!"),
}


def test_units_of_rows_cost_about_as_much_as_they_take() -> None:
    parameters = (FormulaParameter("s", STRING), FormulaParameter("t", STRING))
    compiled = compile_formula("CONVERT(1, :s, :t)", Surroundings(parameters))
    products = ["·".join(one) for one in product(("kg", "g", "mg", "t"), repeat=5)]
    rows = [{"s": one, "t": two} for one, two in pairwise(products)]
    work = WorkMeter()
    assert compiled.run_all(rows[:500], work=work).errors == ()
    bound = MOST_YARDSTICKS * text_units(work.take_spent())
    assert yardsticks(lambda: compiled.run_all(rows[500:1000]), bound) < bound


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_of_rows_cost_about_as_much_as_they_take_whether_or_not_they_are_valid(
    name: str,
) -> None:
    text, pattern = PATTERNS[name]
    compiled = compile_formula(text, Surroundings((FormulaParameter("s", STRING),)))
    rows = [{"s": f"{pattern}{n:x}"} for n in range(500, 520)]
    work = WorkMeter()
    results = compiled.run_all(rows[:10], work=work)
    assert FormulaCode.WORK_LIMIT not in {error.code for error in results.errors}
    bound = MOST_YARDSTICKS * text_units(work.take_spent())
    assert yardsticks(lambda: compiled.run_all(rows[10:]), bound) < bound


def test_a_batch_ends_after_some_hundred_of_the_worst_patterns_and_pays_for_each_once() -> None:
    compiled = compile_formula(SPLITTING, Surroundings((FormulaParameter("s", STRING),)))
    rows = [{"s": "(?i)" + r"\pL" * 62 + f"({n:x}"} for n in range(16, 66)]
    errors = compiled.run_all(rows, work=WorkMeter(MAX_BATCH_WORK // 10)).errors
    codes = [error.code for error in errors]
    paid = codes.index(FormulaCode.WORK_LIMIT)
    assert codes[:paid] == [FormulaCode.INVALID_REGEX] * paid
    assert (0 < paid < 10, set(codes[paid:])) == (True, {FormulaCode.WORK_LIMIT})
    again = compiled.run_all(rows[:1] * 1_000).errors
    assert {error.code for error in again} == {FormulaCode.INVALID_REGEX}
