"""Flaws of the retired engine that this one does not have."""

from decimal import Decimal, localcontext

from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import examine
from penstock.formula.core.errors import FormulaCode
from penstock.formula.core.values import FormulaParameter
from penstock.formula.evaluate import compile_formula
from tests.formula.formula_values import (
    NUMBER,
    STRING,
    SampleCalculations,
    code,
    codes,
    messages,
    number_text,
    table,
    value,
)


def test_b3_a_parameter_is_bound_as_a_value_and_not_replaced_in_the_text() -> None:
    parameters = (FormulaParameter("val", NUMBER), FormulaParameter("value2", NUMBER))
    shelf = SampleCalculations(f=(parameters, ":val+:value2"))

    assert run("#f(10, 20)", shelf) == Decimal(30)


def test_c6_quotes_dollars_and_nulls_pass_unharmed_into_a_calculation() -> None:
    shelf = SampleCalculations(
        f=((FormulaParameter("t", STRING, required=False),), "CONCAT('<', :t, '>')")
    )

    assert run("#f('it\\'s $1 :t')", shelf) == "<it's $1 :t>"
    assert run("#f(null)", shelf) == "<>"


def test_c6_a_missing_or_extra_argument_is_refused_when_checked() -> None:
    around = Surroundings(library=SampleCalculations(f=((FormulaParameter("x", NUMBER),), ":x")))

    assert codes("#f()", around) == ["WRONG_ARITY"]
    assert messages("#f(1, 2)", around) == [
        "line 1, column 1: #f does not take 2 arguments: it is #f(x)"
    ]


def test_c6_the_callers_parameters_do_not_leak_into_a_calculation() -> None:
    around = Surroundings(
        (FormulaParameter("outer", NUMBER),), library=SampleCalculations(f=((), ":outer"))
    )

    assert codes("#f() + :outer", around) == ["INVALID_CALCULATION"]


def test_b4_c12_trailing_text_is_refused() -> None:
    for text in ("17%5", "2,500", "(4+4))", "IF(true,1,2)'", "1 2"):
        assert codes(text) == ["SYNTAX"], text


def test_c13_whitespace_is_free() -> None:
    for text in ("IF( true,1,2)", "IF(true,1,2) ", "\n\n IF\t(\n true\n,1,\r\n2 )\n\n", "1\n*\n1"):
        assert value(text) == Decimal(1), text


def test_b5_c17_rounding_a_date_follows_the_zones_clock_changes() -> None:
    text = "AS_TIMESTAMP('17 May 2024', 'd MMM yyyy', timezone='Europe/Berlin', roundDownTo='year')"

    assert value(text) == Decimal(
        1704063600000
    )  # 2023-12-31T23:00Z, midnight of 1 January in Berlin


def test_c17_the_30th_of_february_does_not_exist_and_milliseconds_are_kept() -> None:
    assert code("AS_TIMESTAMP(:t, 'yyyy-MM-dd')", t="2024-02-30") == FormulaCode.INVALID_DATE
    assert value("AS_TIMESTAMP('1970-01-01 0.123', 'yyyy-MM-dd s.SSS')") == Decimal(123)


def test_b6_c14_divisions_keep_34_digits_and_everything_else_keeps_all() -> None:
    assert number_text("1/40000000000") == "2.5E-11"
    assert number_text("2/3*3") == "2.0000000000000000000000000000000001"
    assert number_text("1/3") == "0.3333333333333333333333333333333333"
    assert number_text("1/4") == "0.25"
    long = "12345678901234567890123456789012345678901234567890.1"
    assert number_text(f"{long} + 0") == long
    assert number_text(":n * 10", n=Decimal(long)) == long.replace(".", "") + ".0"


def test_b6_the_threads_decimal_context_changes_nothing() -> None:
    text = "ROUND(1/3 + :n * 1.23456789 - ABS(-7.654321) ^ 2, 5)"
    expected = number_text(text, n=Decimal("98765.4321"))
    with localcontext() as context:
        context.prec = 3

        assert number_text(text, n=Decimal("98765.4321")) == expected == "121874.37582"


def test_b15_c7_a_calculation_that_calls_itself_is_refused() -> None:
    around = Surroundings(library=SampleCalculations(f=((), "#g()"), g=((), "1 + #f()")))

    assert messages("#f()", around) == [
        "line 1, column 1: the calls go in a circle: #f -> #g -> #f"
    ]


def test_b24_c3_what_is_wrong_is_found_when_saved_with_its_place() -> None:
    found = messages("ZZZ(1)\n+ :mising", Surroundings((FormulaParameter("missing", NUMBER),)))

    assert found == [
        "line 1, column 1: there is no function ZZZ",
        "line 1, column 1: the parameter :missing is not used",
        "line 2, column 3: no parameter or variable is called :mising; did you mean :missing?",
    ]


def test_c4_the_declared_output_type_is_enforced() -> None:
    assert codes("'a'", Surroundings(output=NUMBER)) == ["WRONG_TYPE"]


def test_c10_powers_go_left_to_right_and_a_sign_binds_tighter() -> None:
    assert value("2^3^2") == Decimal(64)
    assert value("-2^2") == Decimal(4)
    assert value("2^-1") == Decimal("0.5")
    assert value("-(2^2)") == Decimal(-4)


def test_c14_powers_are_decimal() -> None:
    assert number_text("1.1^10") == "2.5937424601"
    assert number_text("2^0.5") == "1.414213562373095048801688724209698"


def test_c15_null_compares_with_everything_by_equality_only() -> None:
    assert value(":x == null", x=None) is True
    assert value(":x != null", x="a") is True
    assert value("null != 1") is True
    assert code("COALESCE(:x) < 'a'", x=None) == FormulaCode.NULL_OPERAND
    assert value("COALESCE('', 'b')") == ""


def test_c16_text_stays_text_unless_converted() -> None:
    data = table(("key", "value"), ("a", "007"), ("b", "true"))

    assert value("SPLIT('007,8', ',')[0]") == "007"
    assert value("SWITCH('x', 'y', 1, default='true')") == "true"
    assert value("LOOKUP('a', 'table', 'key', 'value')", data) == "007"
    assert value("LOOKUP('b', 'table', 'key', 'value')", data) == "true"
    assert value("NUMBER(LOOKUP('a', 'table', 'key', 'value'))", data) == Decimal(7)


def test_c18_both_spellings_of_the_kind_of_a_unit_are_understood() -> None:
    assert value("CONVERT(1, 'km', 'm', qualityKind='Length')") == Decimal(1000)
    assert value("CONVERT(1, 'km', 'm', quantityKind='Length')") == Decimal(1000)


def test_c8_version_and_version_as_at_exclude_each_other_everywhere() -> None:
    options = "version=1, versionAsAt='2024-01-01'"
    around = Surroundings(library=SampleCalculations(f=((), "1")))

    for call in ("#f(", "LOOKUP('a', 'b', ", "IMPACT('a', 'b', 'c', "):
        assert "CONFLICTING_OPTIONS" in codes(f"{call}{options})", around)
        assert "CONFLICTING_OPTIONS" in codes(f"{call}label='prod', version=1)", around)
        assert "OPTION_NOT_LITERAL" in codes(f"{call}label=1)", around)


def test_a_set_to_null_and_an_empty_list_element_do_not_crash() -> None:
    assert value("SET :v = null\nCOALESCE(:v, 1)") == Decimal(1)
    assert code("SPLIT(:t, ',')[5]", t="a") == FormulaCode.INDEX_OUT_OF_RANGE


def run(text: str, shelf: SampleCalculations) -> object:
    around = Surroundings(library=shelf)
    assert examine(text, around).problems == ()
    return compile_formula(text, around).run({})
