"""Hostile formulas get a typed error quickly, measured in processor time."""

# ruff: noqa: E501 - a table reads best with a row on a line

from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import examine
from penstock.formula.core.errors import (
    Fault,
    FormulaCode,
    FormulaError,
    FormulaFailure,
    FormulaInvalid,
    FormulaSyntax,
)
from penstock.formula.core.limits import MAX_BATCH_STEPS, MAX_DEPTH, MAX_STRING, MAX_TEXT, WorkMeter
from penstock.formula.core.values import FormulaParameter, Value, join_texts, text_of
from penstock.formula.evaluate import compile_formula, evaluate_rows
from penstock.formula.functions.text import concat
from penstock.formula.syntax.parser import parse_uncached
from tests.formula.formula_values import NUMBER, STRING, code, value
from tests.support.processor_time import yardsticks

MOST_YARDSTICKS = 10
"""Some 100 ms on an idle machine."""

HOSTILE_TEXTS = {
    "a million characters": ("1" * 1_000_000, FormulaCode.FORMULA_TOO_LONG),
    "open brackets": ("(" * MAX_TEXT, FormulaCode.FORMULA_TOO_DEEP),
    "open calls": ("IF(" * 3_000, FormulaCode.FORMULA_TOO_DEEP),
    "minus signs": ("-" * 1_990 + "1", FormulaCode.FORMULA_TOO_DEEP),
    "nested calls": ("ABS(" * 65 + "1" + ")" * 65, FormulaCode.FORMULA_TOO_DEEP),
    "alternating nesting": ("-(1+" * 40 + "1" + ")" * 40, FormulaCode.FORMULA_TOO_DEEP),
    "a sum": ("+".join(["1"] * 4_999), FormulaCode.FORMULA_TOO_COMPLEX),
    "a sum with a mistake at its end": ("+".join(["1"] * 990) + " 1", FormulaCode.SYNTAX),
    "an open text": ("'" + "\\" * 9_998, FormulaCode.SYNTAX),
    "a long token": (":" + "a " * 4_900 + "-", FormulaCode.SYNTAX),
    "newlines": ("\n" * 9_999, FormulaCode.FORMULA_TOO_COMPLEX),
    "a long number": ("1" * 9_999, FormulaCode.NUMBER_OUT_OF_RANGE),
    "a large exponent": ("1e" + "9" * 9_000, FormulaCode.NUMBER_OUT_OF_RANGE),
    "a large index": (":a[" + "9" * 9_000 + "]", FormulaCode.SYNTAX),
}
LONG = "x" * 32_000
HOSTILE_ROWS: dict[str, tuple[str, dict[str, object], FormulaCode]] = {
    "doubled text": ("SET :b = :a\n" + "SET :b = CONCAT(:b, :b)\n" * 150 + ":b", {"a": "x"}, FormulaCode.STRING_TOO_LONG),
    "many regular expressions": ("+".join(["SEARCH(SPLIT(:a, 'x?y')[0], 'q')"] * 100), {"a": "xy" * 16_000}, FormulaCode.WORK_LIMIT),
    "many cases": ("SWITCH(:a, " + ",".join([":b, 1"] * 200) + ", ignoreCase=true)", {"a": "İ" * 32_000, "b": "i" * 32_000}, FormulaCode.WORK_LIMIT),
    "JSON in JSON": ("GET_VALUE(:a, '$" + "..x" * 3 + "')", {"a": '{"x":' * 60 + "1" + "}" * 60}, FormulaCode.WORK_LIMIT),
    "many pieces": ("+".join(["SEARCH(SPLIT(:a, ',')[0], 'q')"] * 100), {"a": "," * 32_000}, FormulaCode.WORK_LIMIT),
    "much upper case": ("CONCAT(" + ",".join(["UPPERCASE(:a)"] * 300) + ")", {"a": LONG}, FormulaCode.WORK_LIMIT),
    "a long product": ("*".join([":n"] * 900), {"n": Decimal("1." + "3" * 500)}, FormulaCode.NUMBER_OUT_OF_RANGE),
    "a tower": ("9^9999^9999", {}, FormulaCode.NUMBER_OUT_OF_RANGE),
    "a large power": ("2^:n", {"n": 10_000}, FormulaCode.EXPONENT_TOO_LARGE),
    "a small quotient": ("1e-9000/1e9000", {}, FormulaCode.NUMBER_OUT_OF_RANGE),
    "a far sum": ("1e9000 + 1e-9000", {}, FormulaCode.NUMBER_OUT_OF_RANGE),
    "deep JSON": ("GET_VALUE(:a, '$')", {"a": "[" * 30_000}, FormulaCode.INVALID_JSON),
    "JSON of quotes": ("GET_VALUE(:a, '$')", {"a": '"' + '\\"' * 15_000}, FormulaCode.INVALID_JSON),
    "JSON paths that multiply": (
        "GET_VALUE(:a, '$" + "..x" * 20 + "')",
        {"a": '{"x":' * 60 + "1" + "}" * 60},
        FormulaCode.WORK_LIMIT,
    ),
    "a date of optional parts": ("AS_TIMESTAMP(:a, :b)", {"a": "1" * 20 + "x", "b": "[1]" * 60 + "yyyy"}, FormulaCode.INVALID_DATE),
    "an ambiguous date": ("AS_TIMESTAMP(:a, 'd-M-yHms')", {"a": "1-1-" + "1" * 30_000}, FormulaCode.INVALID_DATE),
}  # fmt: skip


def cost(compute: Callable[[], object]) -> float:
    """Return the processor time of the computation, in yardsticks."""

    def try_once() -> None:
        with suppress(FormulaError):
            compute()

    return yardsticks(try_once, MOST_YARDSTICKS)


@pytest.mark.parametrize("name", HOSTILE_TEXTS)
def test_a_hostile_text_is_refused_at_once(name: str) -> None:
    text, expected = HOSTILE_TEXTS[name]
    with pytest.raises(FormulaSyntax) as caught:
        parse_uncached(text)

    assert caught.value.problem.code == expected
    assert cost(lambda: parse_uncached(text)) < MOST_YARDSTICKS


@pytest.mark.parametrize("name", HOSTILE_ROWS)
def test_a_hostile_row_fails_at_once(name: str) -> None:
    text, row, expected = HOSTILE_ROWS[name]

    assert code(text, **row) == expected
    assert cost(lambda: value(text, **row)) < MOST_YARDSTICKS


def test_patterns_that_would_backtrack_for_ever_have_an_answer() -> None:
    letters = "a" * 10_000

    assert value("SPLIT(:a, '(a*)*b')", a=letters) == (letters,)
    assert value("SPLIT(:a, '(((a+)+)+)+$')", a=letters + "b") == (letters + "b",)
    assert value("SPLIT(:a, '(a+)+c|(a*b)')", a=letters + "ba") == ("", "a")


@pytest.mark.parametrize(
    "text",
    [
        "+".join(f"FOO{n}()" for n in range(390)),
        "+".join(f":x{n}" for n in range(900)),
        "1" + "<2" * 900,
        "+".join(f"NUMBER(SPLIT('a', '(a{{20}}){{20}}{n}')[0])" for n in range(90)),
    ],
    ids=["unknown functions", "undeclared parameters", "wrong types", "regular expressions"],
)
def test_a_hostile_formula_is_checked_at_once(text: str) -> None:
    parameters = tuple(FormulaParameter(f"y{n}", NUMBER) for n in range(200))

    def examine_text() -> object:
        return examine(text, Surroundings(parameters))

    assert cost(examine_text) < MOST_YARDSTICKS


def test_the_largest_powers_are_refused_by_their_cost() -> None:
    with pytest.raises(FormulaInvalid) as caught:
        compile_formula("^".join(["1.5"] * 700))

    assert [problem.code for problem in caught.value.problems] == ["FORMULA_TOO_COMPLEX"]


@pytest.mark.parametrize(
    "form", ["IF(true, {}, 1)", "COALESCE(null, {})", "SWITCH(1, 1, {})", "ABS({})", "-({})"]
)
def test_a_form_nests_as_deep_as_the_limit_and_no_deeper(form: str) -> None:
    def nest(depth: int) -> str:
        return "1" if depth == 1 else form.format(nest(depth - 1))

    assert value(nest(MAX_DEPTH)) in {Decimal(1), Decimal(-1)}
    with pytest.raises(FormulaSyntax):
        parse_uncached(nest(MAX_DEPTH + 1))


@pytest.mark.parametrize("name", ["AND", "OR"])
def test_logic_nests_as_deep_as_the_limit(name: str) -> None:
    last = "true" if name == "AND" else "false"
    text = f"{name}({last}, " * (MAX_DEPTH - 1) + last + ")" * (MAX_DEPTH - 1)

    assert value(text) is (name == "AND")


def test_a_text_of_exactly_the_longest_length_passes() -> None:
    assert value("CONCAT(:a, 'x')", a="x" * (MAX_STRING - 1)) == "x" * MAX_STRING
    assert code("CONCAT(:a, 'xx')", a="x" * (MAX_STRING - 1)) == FormulaCode.STRING_TOO_LONG


class CountedList(list[Any]):
    """A list that counts the items that were taken from it."""

    taken = 0

    def __iter__(self) -> Iterator[Any]:
        for item in super().__iter__():
            self.taken += 1
            yield item


SMALL = Decimal("1e-9000")


def test_a_joined_text_takes_no_more_parts_than_fit() -> None:
    parts = CountedList(["x" * 9_000] * 4_000)
    with pytest.raises(Fault) as caught:
        join_texts(parts)
    assert caught.value.code is FormulaCode.STRING_TOO_LONG
    assert parts.taken == 4
    assert join_texts(["a"] * 10_921 + ["bc"], ",,", around=3) == "a,," * 10_921 + "bc"
    with pytest.raises(Fault):
        join_texts(["a"] * 10_921 + ["bc"], ",,", around=4)
    assert join_texts([], ",", around=2) == ""


def test_numbers_become_no_more_text_than_a_text_holds() -> None:
    work = WorkMeter()
    with pytest.raises(Fault):
        concat(work, *[SMALL] * 1_000)
    assert work.take_spent() == 4 * 9_002
    listed: Any = CountedList([SMALL] * 4_000)
    with pytest.raises(Fault):
        text_of(listed)
    assert listed.taken == 4
    document = "[" + ",".join(["1e-9000"] * 4_000) + "]"
    assert value("GET_VALUE(:a, '$')[3999]", a=document) == SMALL
    for path, text in (("$[0]", f"[[{document}]]"), ("$.*", f'{{"a":{document}}}')):
        assert code(f"GET_VALUE(:a, '{path}')", a=text) == FormulaCode.STRING_TOO_LONG


def test_a_number_of_a_thousand_digits_is_exact_and_one_more_is_an_error() -> None:
    nines = "9" * 1_000

    assert value(f"{nines} - 1") == Decimal(nines[:-1] + "8")
    assert code(f"{nines} + 1 + 0.1") == FormulaCode.NUMBER_OUT_OF_RANGE


def test_a_batch_that_costs_too_much_is_refused_before_it_starts() -> None:
    compiled = compile_formula("+".join(["1"] * 501))
    rows: list[dict[str, Value]] = [{}] * (MAX_BATCH_STEPS // 500)

    assert len(evaluate_rows(compiled, rows[:10]).values) == 10
    with pytest.raises(FormulaFailure) as caught:
        evaluate_rows(compiled, [*rows, {}])
    assert caught.value.code == FormulaCode.WORK_LIMIT


def test_rows_share_the_work_of_a_batch() -> None:
    around = Surroundings((FormulaParameter("a", STRING),))
    compiled = compile_formula("CONCAT(" + ",".join(["UPPERCASE(:a)"] * 5) + ", 'x')", around)
    results = evaluate_rows(compiled, [{"a": "x" * 30_000}] * 40)

    assert {error.code for error in results.errors} == {
        FormulaCode.STRING_TOO_LONG,
        FormulaCode.WORK_LIMIT,
    }
    assert results.errors[0].code == FormulaCode.STRING_TOO_LONG
    assert results.errors[-1].code == FormulaCode.WORK_LIMIT
