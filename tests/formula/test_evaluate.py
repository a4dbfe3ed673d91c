import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest

from penstock.formula import evaluate
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import link
from penstock.formula.core.datasets import RowKey, VersionPin
from penstock.formula.core.errors import FormulaCode, FormulaFailure, FormulaInvalid, Position
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar, Value
from penstock.formula.evaluate import RowError, compile_formula, evaluate_rows
from penstock.formula.syntax.parser import parse
from tests.formula.formula_values import (
    BOOLEAN,
    FACTORS,
    NUMBER,
    STRING,
    TIMESTAMP,
    VEHICLE,
    VEHICLE_FORMULA,
    codes,
    failure,
    value,
)


def bind_entry(kind: FormulaType, entry: object, required: bool = True) -> Value:
    around = Surroundings((FormulaParameter("x", kind, required),))
    return compile_formula(":x", around).run({"x": entry})


def refusal_of(kind: FormulaType, entry: object) -> tuple[FormulaCode, str | None]:
    with pytest.raises(FormulaFailure) as caught:
        bind_entry(kind, entry)
    assert caught.value.at is None
    return caught.value.code, caught.value.column


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (Decimal("1.50"), "1.50"),
        (7, "7"),
        (10**300, "1" + "0" * 300),
        ("  -1.5e3 ", "-1.5E+3"),
        (".5", "0.5"),
        (0.1, "0.1"),
        (1e22, "1E+22"),
        (123456789.123456, "123456789.123456"),
    ],
)
def test_a_number_is_taken_exactly(entry: object, expected: str) -> None:
    assert str(bind_entry(NUMBER, entry)) == expected


@pytest.mark.parametrize(
    "entry",
    [
        "x",
        "1,5",
        "1_000",
        "١",
        "0x10",
        True,
        [],
        0.1 + 0.2,
        float("nan"),
        float("inf"),
        "NaN",
        b"1",
    ],
)
def test_what_is_not_surely_a_number_is_refused(entry: object) -> None:
    assert refusal_of(NUMBER, entry) == (FormulaCode.INVALID_INPUT, "x")


@pytest.mark.parametrize(
    "entry", ["1e10000", Decimal("1e10000"), "1" * 1_001, Decimal("1e-10000"), 10**2_000]
)
def test_a_number_beyond_the_limits_is_refused(entry: object) -> None:
    assert refusal_of(NUMBER, entry) == (FormulaCode.NUMBER_OUT_OF_RANGE, "x")


def test_a_decimal_that_is_not_a_finite_number_is_refused() -> None:
    for entry in (Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")):
        assert refusal_of(NUMBER, entry) == (FormulaCode.NUMBER_OUT_OF_RANGE, "x")


def test_text_is_taken_as_it_is_and_nothing_else_is_text() -> None:
    assert bind_entry(STRING, "") == ""
    assert bind_entry(STRING, " 007 ") == " 007 "
    assert refusal_of(STRING, 7) == (FormulaCode.INVALID_INPUT, "x")
    assert refusal_of(STRING, "x" * 40_000) == (FormulaCode.STRING_TOO_LONG, "x")
    assert bind_entry(TIMESTAMP, "2024-05-17") == "2024-05-17"


def test_a_boolean_is_true_or_false_in_any_case_and_nothing_else() -> None:
    assert [bind_entry(BOOLEAN, entry) for entry in (True, "TRUE", "False", False)] == [
        True,
        True,
        False,
        False,
    ]
    assert refusal_of(BOOLEAN, "yes") == (FormulaCode.INVALID_INPUT, "x")
    assert refusal_of(BOOLEAN, 1) == (FormulaCode.INVALID_INPUT, "x")


def test_absent_null_and_empty_are_null_but_the_empty_text_is_a_text() -> None:
    for kind in (NUMBER, BOOLEAN, TIMESTAMP):
        assert bind_entry(kind, "", required=False) is None
        assert bind_entry(kind, None, required=False) is None
        assert refusal_of(kind, "") == (FormulaCode.MISSING_VALUE, "x")
    assert refusal_of(STRING, None) == (FormulaCode.MISSING_VALUE, "x")
    assert (
        compile_formula(":x", Surroundings((FormulaParameter("x", STRING, False),))).run({}) is None
    )


def test_rows_give_values_and_errors_and_none_stops_the_others() -> None:
    compiled = compile_formula(VEHICLE_FORMULA, VEHICLE)
    row = {"vehicleType": "car", "pollutant": "co2", "distance": 10}
    rows: list[Mapping[str, object]] = [
        row,
        {**row, "distance": "far"},
        {**row, "vehicleType": "boat"},
        {"pollutant": "co2", "distance": 1},
        {**row, "passengers": "2"},
    ]

    results = evaluate_rows(compiled, rows, FACTORS)

    assert results.values == (Decimal("3.502"), None, None, None, Decimal("3.5"))
    assert results.errors == (
        RowError(
            1,
            "distance",
            FormulaCode.INVALID_INPUT,
            ":distance: expected a number, found 'far'",
            None,
        ),
        RowError(
            2,
            None,
            FormulaCode.IMPACT_NOT_FOUND,
            "there is no emission factor for 'vehicles', 'boat', 'co2'",
            Position(1, VEHICLE_FORMULA.index("IMPACT('vehicles'") + 1),
        ),
        RowError(3, "vehicleType", FormulaCode.MISSING_VALUE, ":vehicleType has no value", None),
    )


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1 + 2 / :n", 1, 7),
        ("IF(:n == 0,\n 1 / :n,\n 2)", 2, 4),
        ("SET :v = 3\n:v ^ (1 / :n)", 2, 9),
        ("CONCAT('a', ROUND(1, :n + 0.5))", 1, 13),
        ("COALESCE(null, -NUMBER(CONCAT('x', :n)))", 1, 17),
    ],
)
def test_a_failure_has_the_place_of_its_operation(text: str, line: int, column: int) -> None:
    assert failure(text, n=0).at == Position(line, column)


def test_the_declared_output_is_enforced_for_each_row() -> None:
    around = Surroundings((FormulaParameter("t", STRING),), NUMBER)
    compiled = compile_formula("GET_VALUE(:t, '$')", around)

    assert compiled.run({"t": "1.50"}) == Decimal("1.50")
    assert compiled.run({"t": "null"}) is None
    with pytest.raises(FormulaFailure) as caught:
        compiled.run({"t": '"1.50"'})
    assert (caught.value.code, caught.value.at) == (FormulaCode.WRONG_TYPE, Position(1, 1))


def test_ref_reads_earlier_outputs_and_is_null_when_there_is_none_yet() -> None:
    compiled = compile_formula(
        "COALESCE(REF('a'), 0) + 1", Surroundings(earlier=frozenset({"a", "b"}))
    )

    assert compiled.run({}, earlier={"a": Decimal(4)}) == Decimal(5)
    assert compiled.run({}, earlier={"b": Decimal(4)}) == Decimal(1)


def test_an_invalid_formula_is_not_compiled_and_says_all_that_is_wrong() -> None:
    with pytest.raises(FormulaInvalid) as caught:
        compile_formula("ZZZ(:a) + BAR(:b)")

    assert [problem.code for problem in caught.value.problems] == [
        "UNKNOWN_FUNCTION",
        "UNDECLARED_PARAMETER",
        "UNKNOWN_FUNCTION",
        "UNDECLARED_PARAMETER",
    ]


def test_an_unused_parameter_stops_saving_but_not_evaluating() -> None:
    around = Surroundings((FormulaParameter("a", NUMBER),))

    assert codes("1", around) == ["UNUSED_PARAMETER"]
    assert compile_formula("1", around).run({"a": 2}) == Decimal(1)


def test_a_formula_is_compiled_once_for_each_text_and_declaration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled_texts = []

    class CountingFormula(evaluate.CompiledFormula):
        def __init__(self, linked: object) -> None:
            super().__init__(linked)  # type: ignore[arg-type]
            compiled_texts.append(self.linked.formula.text)

    monkeypatch.setattr(evaluate, "CompiledFormula", CountingFormula)
    text = "COALESCE(:once, :twice)"
    number = Surroundings((FormulaParameter("once", NUMBER), FormulaParameter("twice", NUMBER)))
    string = Surroundings((FormulaParameter("once", STRING), FormulaParameter("twice", STRING)))
    for _ in range(5):
        compile_formula(text, number)
        compile_formula(text, string)

    assert compiled_texts == [text, text]


def test_nothing_of_a_formulas_text_enters_the_generated_source() -> None:
    evil = "__import__('os').system('x')\n\"\"\"#"
    around = Surroundings((FormulaParameter("import os", STRING), FormulaParameter("k1", STRING)))
    text = "SET :lookup = CONCAT(:import os, '{}', :k1)\nSWITCH(:lookup, '{}', 1, default=2)"
    plain, hostile = (
        compile_formula(
            text.replace("{}", inside.replace("'", "\\'").replace("\n", "")), around
        ).source
        for inside in ("plain", evil)
    )

    assert plain == hostile
    words = set(re.findall(r"[A-Za-z_]\w*", plain))
    numbered = {word for word in words if re.fullmatch(r"[kpt]\d+", word)}
    assert words - numbered == {
        *("def", "run", "get", "lookup", "impact", "earlier", "work", "if", "is", "not", "or"),
        *("type", "str", "len", "None", "return"),
    }


def test_threads_may_share_a_compiled_formula() -> None:
    compiled = compile_formula(VEHICLE_FORMULA, VEHICLE)

    def total(distance: int) -> Value:
        row = {"vehicleType": "car", "pollutant": "co2", "distance": distance}
        return compiled.run(row, FACTORS)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(total, range(200)))

    assert found == [Decimal("0.3502") * distance for distance in range(200)]


def test_a_dataset_that_breaks_its_word_is_a_bug_and_not_a_row_error() -> None:
    class Binary:
        def lookup(
            self,
            dataset: str,
            key: RowKey,
            columns: object,
            pin: VersionPin,
            within: str | None = None,
        ) -> Scalar:
            return 1.5  # type: ignore[return-value]

        def impact(
            self,
            activity: str,
            impact: str,
            component: str,
            pin: VersionPin,
            within: str | None = None,
        ) -> Decimal | None:
            return 1.5  # type: ignore[return-value]

    with pytest.raises(TypeError, match="a dataset gave a float"):
        value("LOOKUP('a', 'b')", Binary())
    with pytest.raises(TypeError, match="a dataset gave a float"):
        value("IMPACT('a', 'b', 'c')", Binary())


def test_the_steps_of_a_formula_are_known_before_it_runs() -> None:
    assert link(parse("1 + 2 * 3"), Surroundings()).steps == 2
    assert compile_formula(VEHICLE_FORMULA, VEHICLE).steps == 11
