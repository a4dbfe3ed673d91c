# ruff: noqa: E501 - a table reads best with a row on a line
import pytest

from penstock.formula.checking.calculation_library import Callee
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.dataset_uses import DatasetUse, datasets_of
from penstock.formula.checking.linker import examine
from penstock.formula.core.datasets import LATEST, VersionPin
from penstock.formula.core.values import FormulaParameter, ValueKind
from penstock.formula.syntax.parser import parse
from tests.formula.formula_values import (
    BOOLEAN,
    NUMBER,
    STRING,
    TIMESTAMP,
    VEHICLE,
    VEHICLE_FORMULA,
    SampleCalculations,
    codes,
    messages,
)

PROBLEMS = [
    ("ZZZ(1)", "line 1, column 1: there is no function ZZZ"),
    ("CONACT('a')", "line 1, column 1: there is no function CONACT; did you mean CONCAT?"),
    ("IF(true, 1)", "line 1, column 1: IF does not take 2 arguments: it is written IF(condition, then, otherwise)"),
    ("ROUND()", "line 1, column 1: ROUND does not take no arguments: it is written ROUND(number, [places])"),
    ("LOOKUP('a','b','c')", "line 1, column 1: LOOKUP does not take 3 arguments: it is written LOOKUP(value, dataset, keyColumn, outputColumn, [value, keyColumn], ...)"),
    ("SWITCH(1, 2, 3, 4)", "line 1, column 1: SWITCH does not take 4 arguments: it is written SWITCH(value, case, result, ..., default=, ignoreCase=)"),
    ("SEARCH('a', 'b', ignorecase=true)", "line 1, column 18: SEARCH has no option `ignorecase`; did you mean ignoreCase?"),
    ("ABS(1, limit=2)", "line 1, column 8: ABS has no option `limit`"),
    ("SPLIT('a', 'b', limit=1, limit=2)", "line 1, column 26: the option `limit` is given twice"),
    ("LOOKUP('a', 'b', tenant='t')", "line 1, column 18: data of other tenants cannot be read"),
    ("LOOKUP('a', 'b', version=1+1)", "line 1, column 18: `version` must be written out, as a whole number from 1"),
    ("LOOKUP('a', 'b', version=0)", "line 1, column 18: `version` must be written out, as a whole number from 1"),
    ("LOOKUP('a', 'b', group=1)", "line 1, column 18: `group` must be written out, as a group as text"),
    ("1 + 'a'", "line 1, column 5: expected a number, found text"),
    ("-true", "line 1, column 2: expected a number, found true or false"),
    ("'a' == 1", "line 1, column 5: text cannot be compared with a number"),
    ("null < 1", "line 1, column 6: null cannot be compared with a number"),
    ("'a'[0]", "line 1, column 1: expected a list, found text"),
    ("IF(1, 2, 3)", "line 1, column 4: expected true or false, found a number"),
    ("1 + IF(true, 'a', null)", "line 1, column 5: expected a number, found text or null"),
    ("1 + SPLIT('a', 'b')[0]", "line 1, column 20: expected a number, found text"),
    ("1\n2", "line 1, column 1: the value of this line is not used: only the last line is the result"),
    ("SET :v = 1", "line 1, column 5: the last line must be a value, not a SET"),
    (":v + 1", "line 1, column 1: no parameter or variable is called :v"),
    ("#f(1)", "line 1, column 1: no calculation #f can be seen from here"),
    ("REF('a')", "line 1, column 1: REF reads earlier outputs of a pipeline; there are none here"),
    ("CAML('x')", "line 1, column 1: CAML is not supported: matching products by machine learning needs a service that Penstock does not have"),
    ("EMISSION_FACTOR('a', 'b', 'c')", "line 1, column 1: EMISSION_FACTOR is not supported: it is called IMPACT(activity, impact, component)"),
    ("GET('{}', '$')", "line 1, column 1: GET is not supported: GET_VALUE(json, path) takes a value out of JSON, and REF('key') an earlier output"),
    ("ASSIGN_TO_GROUP('/a')", "line 1, column 1: ASSIGN_TO_GROUP is not supported: a formula answers a value and cannot move rows between groups"),
    ("SPLIT('a', '(')", "line 1, column 1: the regular expression is invalid: a group is not closed"),
    ("AS_TIMESTAMP('a', 'QQ')", "line 1, column 1: the date pattern is invalid: `QQ` is not understood"),
    ("AS_TIMESTAMP('a', 'y', timezone='Mars')", "line 1, column 1: the time zone 'Mars' is not known"),
    ("CONVERT(1, 'kWh', 'kg')", "line 1, column 1: 'kWh' is of Energy, 'kg' of Mass"),
    ("GET_VALUE('{}', 'a')", "line 1, column 1: the JSON path 'a' is not understood"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), PROBLEMS)
def test_a_problem_is_found_without_evaluating(text: str, message: str) -> None:
    assert messages(text) == [message]


def test_all_problems_are_found_at_once_in_the_order_of_the_text() -> None:
    around = Surroundings((FormulaParameter("a", NUMBER), FormulaParameter("unused", NUMBER)))

    assert codes("SET :a = ZZZ(:b)\nIF(:a, 'x' * 2, ROUND())", around) == [
        "UNUSED_PARAMETER",
        "SHADOWED_PARAMETER",
        "UNKNOWN_FUNCTION",
        "UNDECLARED_PARAMETER",
        "WRONG_TYPE",
        "WRONG_TYPE",
        "WRONG_ARITY",
    ]


def test_a_problem_shows_its_line_with_a_caret() -> None:
    (problem,) = examine("SET :v = 1\n  :v + 'a'").problems

    assert problem.excerpt == "  :v + 'a'\n       ^"


def test_at_most_fifty_problems_are_kept() -> None:
    assert len(codes(" + ".join(f":x{n}" for n in range(300)))) == 50


def test_parameters_are_unique_and_can_be_written() -> None:
    around = Surroundings(
        (
            FormulaParameter("a", NUMBER),
            FormulaParameter("a", STRING),
            FormulaParameter("b-c", NUMBER),
        )
    )

    assert codes(":a", around) == [
        "DUPLICATE_PARAMETER",
        "UNWRITABLE_PARAMETER",
        "UNUSED_PARAMETER",
    ]


def test_a_parameter_that_cannot_be_written_is_no_place_of_the_formula() -> None:
    around = Surroundings((FormulaParameter("a", NUMBER), FormulaParameter("b-c", NUMBER)))
    (problem,) = examine(":a", around).problems[:1]
    assert problem.message == (
        "the parameter 'b-c' cannot be written in a formula, as :name; give it a key of letters, "
        "digits and _, and put the heading into its label"
    )
    assert problem.excerpt == ""


def test_a_variable_may_be_set_again_and_is_known_from_its_line_on() -> None:
    assert codes("SET :v = 1\nSET :v = CONCAT(:v, 'a')\n:v") == []
    assert codes("SET :w = :v\nSET :v = 1\n:w") == ["UNDECLARED_PARAMETER"]


def test_what_may_be_right_is_not_a_problem() -> None:
    around = Surroundings(
        (
            FormulaParameter("n", NUMBER, required=False),
            FormulaParameter("b", BOOLEAN),
            FormulaParameter("w", TIMESTAMP),
        )
    )
    text = "IF(:b == true, :n + LOOKUP('d', :w), GET_VALUE(:w, '$.a') * 2) > COALESCE(:n, 'x')"

    assert codes(text, around) == []


def test_the_result_kind_is_inferred() -> None:
    assert examine(VEHICLE_FORMULA, VEHICLE).kind == ValueKind.NUMBER
    assert examine("IF(1 > 2, 'a', null)").kind == ValueKind.TEXT | ValueKind.NULL
    assert examine("COALESCE(null, 1, 'a')").kind == ValueKind.NUMBER | ValueKind.TEXT


def test_a_report_says_what_the_formula_needs() -> None:
    text = (
        "SET :d = 'x'\nCOALESCE(IMPACT('act', :p, 'c', version=2), LOOKUP(:p, 'set', 'k', :d), "
        "LOOKUP(:d, 'a'), #f(1, group='/g'))"
    )
    shelf = SampleCalculations(f=((FormulaParameter("x", NUMBER),), ":x"))
    report = examine(text, Surroundings((FormulaParameter("p", STRING),), library=shelf))

    assert report.used == {"p"}
    assert report.calls == (Callee("f", VersionPin(group="/g")),)
    assert report.datasets == (
        DatasetUse("IMPACT", "act", VersionPin(version=2)),
        DatasetUse("LOOKUP", "set", LATEST, ("k", None)),
        DatasetUse("LOOKUP", None, LATEST),
    )
    assert datasets_of(parse(text)) == report.datasets


def test_what_data_is_asked_for_is_read_off_formulas_that_are_wrong_too() -> None:
    assert datasets_of(parse("LOOKUP('a') + ZZZ('b', LOOKUP('c', 1)) + LOOKUP('c', 2)")) == (
        DatasetUse("LOOKUP", "c", LATEST),
    )


def test_ref_knows_the_earlier_outputs() -> None:
    around = Surroundings(earlier=frozenset({"total"}))

    assert codes("REF('total')", around) == []
    assert messages("REF('totla')", around) == [
        "line 1, column 1: no earlier output is called 'totla'; did you mean total?"
    ]


def test_the_declared_output_must_be_possible() -> None:
    for output, text in ((NUMBER, "'a'"), (BOOLEAN, "1"), (STRING, "1"), (TIMESTAMP, "'2024'")):
        assert codes(text, Surroundings(output=output)) == ["WRONG_TYPE"], output
    assert codes("AS_TIMESTAMP('2024', 'yyyy')", Surroundings(output=TIMESTAMP)) == []
    assert codes("SPLIT('a,b', ',')", Surroundings(output=STRING)) == []
    assert codes("null", Surroundings(output=NUMBER)) == []
