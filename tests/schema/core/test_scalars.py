"""Scalars: valid input, output, and rejected input, which the error does not repeat."""

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from graphql import ExecutionResult, GraphQLError, parse_value
from hypothesis import given
from hypothesis import strategies as st

from penstock.schema.core.json_scalar import check_json_output, read_json_literal, read_json_value
from penstock.schema.core.scalars import encode_json, parse_instant
from tests.support.example_schema import shelves_schema

SCHEMA = shelves_schema()


def run(document: str, variables: dict[str, Any] | None = None) -> ExecutionResult:
    return SCHEMA.execute_sync(document, variable_values=variables)  # type: ignore[return-value]


def same(field: str, literal: str) -> Any:
    result = run(f"{{ same({field}: {literal}) {{ {field} }} }}")
    assert result.errors is None, result.errors
    assert result.data is not None
    return result.data["same"][field]


def same_variable(field: str, of: str, value: object) -> Any:
    result = run(f"query ($v: {of}) {{ same({field}: $v) {{ {field} }} }}", {"v": value})
    assert result.errors is None, result.errors
    assert result.data is not None
    return result.data["same"][field]


def refusals(field: str, literal: str) -> list[str]:
    result = run(f"{{ same({field}: {literal}) {{ {field} }} }}")
    assert result.data is None
    return [error.message for error in result.errors or ()]


def test_the_scalars_have_their_names_in_the_sdl() -> None:
    sdl = SCHEMA.as_str()
    for name in ("DateTime", "GroupPath", "JSON", "Long", "Decimal"):
        assert f"scalar {name}" in sdl


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2022-08-10T23:55:20.322Z", "2022-08-10T23:55:20.322Z"),
        ("2022-08-10T23:55:20Z", "2022-08-10T23:55:20.000Z"),
        ("2022-08-10t23:55:20.5z", "2022-08-10T23:55:20.500Z"),
        ("2022-08-10T23:55:20.3229999+02:00", "2022-08-10T21:55:20.322Z"),
        ("2022-01-01T00:30:00-01:00", "2022-01-01T01:30:00.000Z"),
    ],
)
def test_an_instant_becomes_utc_with_milliseconds(text: str, canonical: str) -> None:
    assert same("time", f'"{text}"') == canonical
    assert same_variable("time", "DateTime", text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "2022-08-10T23:55:20",
        "2022-08-10",
        "2022-02-30T00:00:00Z",
        "2022-08-10T24:00:00Z",
        "2022-08-10T23:55:60Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "２022-08-10T23:55:20Z",
        "2022-08-10T23:55:20Z\\n",
        "",
    ],
)
def test_what_is_no_instant_is_refused_without_an_echo(text: str) -> None:
    (message,) = refusals("time", f'"{text}"')
    assert message == (
        "A DateTime is RFC 3339 text with an offset, such as 2022-08-10T23:55:20.322Z."
    )


@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)),
    st.integers(-23 * 60, 23 * 60),
)
def test_the_same_instant_has_one_text_whatever_its_offset(moment: datetime, offset: int) -> None:
    utc = moment.replace(tzinfo=UTC)
    local = utc.astimezone(timezone(timedelta(minutes=offset)))
    assert parse_instant(local.isoformat()) == parse_instant(utc.isoformat())
    assert parse_instant(parse_instant(local.isoformat())) == parse_instant(local.isoformat())


def test_group_paths_are_read_by_the_rules_of_paths() -> None:
    assert same("group", '"/USA/Northwest"') == "/usa/northwest"
    assert same_variable("group", "GroupPath", "/") == "/"


@pytest.mark.parametrize("literal", ['"no/slash"', '"/a//b"', "7", '""'])
def test_what_is_no_group_path_is_refused(literal: str) -> None:
    (message,) = refusals("group", literal)
    assert "Traceback" not in message
    assert "BadArgument" not in message


@pytest.mark.parametrize("value", [2**40, -(2**63), 2**63 - 1, 0])
def test_a_long_has_64_bits(value: int) -> None:
    assert same("long", str(value)) == value
    assert same("long", f'"{value}"') == value
    assert same_variable("long", "Long", value) == value


@pytest.mark.parametrize("literal", [str(2**63), str(-(2**63) - 1), "1.0", "true", '"1e3"', '"01"'])
def test_what_is_no_long_is_refused(literal: str) -> None:
    assert refusals("long", literal) == ["A Long is a whole number of 64 bits."]


@pytest.mark.parametrize("text", ["12.50", "0.1", "-7", "1E-130", "9" * 38])
def test_a_decimal_stays_exact(text: str) -> None:
    assert same("decimal", f'"{text}"') == text
    assert same_variable("decimal", "Decimal", text) == text


def test_a_decimal_may_be_a_number_in_the_document_but_no_double() -> None:
    assert same("decimal", "12.50") == "12.50"
    assert same("decimal", "3") == "3"
    result = run("query ($v: Decimal) { same(decimal: $v) { decimal } }", {"v": 0.1})
    assert result.data is None


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "1" * 39, "1e126", "1e-131", "1e9999", " 1", "1_0", "٣"]
)
def test_what_is_no_decimal_is_refused(text: str) -> None:
    (message,) = refusals("decimal", f'"{text}"')
    assert text not in message


def test_json_literals_keep_numbers_exact() -> None:
    literal = '{a: 1.10, b: [1, 12345678901234567890, null, true], c: {d: "x"}}'
    assert same("json", literal) == {
        "a": Decimal("1.10"),
        "b": [1, Decimal(12345678901234567890), None, True],
        "c": {"d": "x"},
    }


def test_json_variables_become_integers_and_decimals() -> None:
    seen = read_json_value({"a": 0.1, "b": 3, "c": [1.0, {"d": False}]})
    assert seen == {"a": Decimal("0.1"), "b": 3, "c": [Decimal("1.0"), {"d": False}]}
    assert isinstance(seen, dict)
    assert type(seen["a"]) is Decimal
    assert type(seen["b"]) is int


def test_variables_may_stand_inside_a_json_literal() -> None:
    document = """query ($n: Int, $s: String, $j: JSON, $gone: Int) {
      same(json: {n: $n, list: [$s, $gone], j: {deep: $j}, gone: $gone}) { json }
    }"""
    result = run(document, {"n": 5, "s": "x", "j": {"k": 0.5}})
    assert result.errors is None
    assert result.data == {
        "same": {"json": {"n": 5, "list": ["x", None], "j": {"deep": {"k": Decimal("0.5")}}}}
    }


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, Decimal("NaN")])
def test_numbers_that_are_none_pass_neither_way(value: float | Decimal) -> None:
    with pytest.raises(GraphQLError, match="finite"):
        read_json_value({"a": [value]})
    with pytest.raises(ValueError, match="NaN"):
        check_json_output({"a": [value]})


def test_json_goes_32_levels_deep() -> None:
    def nest_lists(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    assert read_json_value(nest_lists(32)) == nest_lists(32)
    with pytest.raises(GraphQLError, match="32 levels"):
        read_json_value(nest_lists(33))
    with pytest.raises(GraphQLError, match="32 levels"):
        read_json_literal(parse_value("[" * 33 + "1" + "]" * 33))


def test_json_holds_10000_values() -> None:
    assert read_json_value([0] * 9_999) == [0] * 9_999
    with pytest.raises(GraphQLError, match="10000 values"):
        read_json_value([0] * 10_000)


def test_json_numbers_hold_38_digits() -> None:
    assert read_json_value(10**38 - 1) == 10**38 - 1
    with pytest.raises(GraphQLError, match="38 digits"):
        read_json_value(10**38)
    with pytest.raises(GraphQLError, match="38 digits"):
        read_json_literal(parse_value("9" * 5_000))
    with pytest.raises(GraphQLError, match="1e-130"):
        read_json_literal(parse_value("1e400"))


def test_json_has_no_enum_values() -> None:
    (message,) = refusals("json", "{color: RED}")
    assert message == "JSON has no enum values; write a text in quotes."


def test_json_out_refuses_what_it_cannot_write() -> None:
    with pytest.raises(TypeError, match="datetime"):
        check_json_output({"at": datetime.now(UTC)})
    with pytest.raises(TypeError, match="key of int"):
        check_json_output({1: "a"})


EXACT = st.builds(
    lambda digits, exponent: Decimal(digits).scaleb(exponent),
    st.integers(-(10**38), 10**38),
    st.integers(-9_999, 9_961),
)


@given(EXACT)
def test_json_out_keeps_numbers_of_any_size_exact(number: Decimal) -> None:
    (written,) = json.loads(encode_json(check_json_output([number])), parse_float=Decimal)
    assert Decimal(written) == number
    (read,) = json.loads(encode_json(check_json_output([number])))
    if isinstance(read, str):
        assert float(number) in (0, math.inf, -math.inf)
        assert re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?", read)
    else:
        assert math.isfinite(read)
        assert bool(read) == bool(number)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("1e400", b'"1' + b"0" * 400 + b'"'),
        ("-1e-9000", b'"-0.' + b"0" * 8999 + b'1"'),
        ("1e309", b'"1' + b"0" * 309 + b'"'),
        ("1.7e308", b"1.7E+308"),
        ("5e-324", b"5E-324"),
        ("1e-324", b'"0.' + b"0" * 323 + b'1"'),
        ("9" * 38, b"9" * 38),
        ("0e-9999", b"0E-9999"),
    ],
)
def test_a_number_that_no_double_comes_near_is_a_text(number: str, text: bytes) -> None:
    assert encode_json(check_json_output(Decimal(number))) == text


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_without_fractions_comes_back_as_it_went_in(value: Any) -> None:
    assert check_json_output(read_json_value(value)) == value


@pytest.mark.parametrize("field", ["time", "group"])
def test_a_text_scalar_passes_nothing_but_text_out(field: str) -> None:
    definition = SCHEMA._schema.type_map[{"time": "DateTime", "group": "GroupPath"}[field]]
    with pytest.raises(TypeError, match="a text was expected"):
        definition.coerce_output_value(7)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [True, 2**63, "1", 1.0, Decimal("1.5")])
def test_a_long_passes_nothing_but_64_bits_out(value: object) -> None:
    with pytest.raises(TypeError, match="64-bit"):
        SCHEMA._schema.type_map["Long"].coerce_output_value(value)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [1.5, "1.5", True, Decimal("Infinity")])
def test_a_decimal_passes_nothing_but_exact_numbers_out(value: object) -> None:
    with pytest.raises(TypeError, match="finite Decimal"):
        SCHEMA._schema.type_map["Decimal"].coerce_output_value(value)  # type: ignore[attr-defined]
