from decimal import Decimal

import pytest

from penstock.formula.core.datasets import LATEST, DatasetRows, InMemoryDatasets, VersionPin
from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.values import Value
from penstock.formula.evaluate import compile_formula
from penstock.formula.functions.catalogue import FUNCTIONS, UNSUPPORTED
from tests.formula.formula_values import (
    FACTORS,
    VEHICLE,
    VEHICLE_FORMULA,
    code,
    failure,
    table,
    value,
)

GOLDEN: list[tuple[str, Value]] = [
    ("ABS(-2.50)", Decimal("2.50")),
    ("ABS(2)", Decimal(2)),
    ("AND(true, 1 < 2)", True),
    ("AND(true, false, 1/0 == 1)", False),
    ("AS_TIMESTAMP('1970-01-02', 'yyyy-MM-dd')", Decimal(86_400_000)),
    (
        "AS_TIMESTAMP('2024-05-17T12:30:15+02:00', 'yyyy-MM-dd\\'T\\'HH:mm:ssXXX')",
        Decimal(1715941815000),
    ),
    ("as_timestamp('17.5.24', 'd.M.yy', roundDownTo='quarter')", Decimal(1711929600000)),
    ("CEIL(-0.5)", Decimal(0)),
    ("CEIL(2.000000001)", Decimal(3)),
    ("CEIL(7e900)", Decimal("7e900")),
    ("COALESCE(null, null, 3)", Decimal(3)),
    ("COALESCE('', 'b')", ""),
    ("COALESCE(1, 1/0)", Decimal(1)),
    ("COALESCE(null, null)", None),
    ("CONCAT('a', null, 1.50, true)", "a1.5true"),
    ("CONCAT(0.000000001, ' ', 1e3, ' ', 10)", "0.000000001 1000 10"),
    ("CONCAT(SPLIT('a,\"b', ','))", '["a","\\"b"]'),
    ("CONTAINS('natural gas', 'gas')", True),
    ("CONTAINS('natural gas', 'GAS')", False),
    ("CONTAINS('natural gas', 'GAS', ignoreCase=true)", True),
    ("CONTAINS('', '')", True),
    ("CONVERT(1, 'kWh', 'MJ', qualityKind='Energy')", Decimal("3.6")),
    ("CONVERT(32, 'Fahrenheit', 'celsius', quantityKind='temperature')", Decimal(0)),
    ("DATEDIFF(0, 86399999, 'day')", Decimal(0)),
    ("DATEDIFF(86400000, 0, 'DAY')", Decimal(-1)),
    ("DATEDIFF(0, 1209600000, 'week')", Decimal(2)),
    ("DATEDIFF(0, 7199999, 'hour')", Decimal(1)),
    # The last Sunday of March 2024 has 23 hours in Berlin.
    ("DATEDIFF(1711839600000, 1711922400000, 'day', timezone='Europe/Berlin')", Decimal(1)),
    ("DATEDIFF(1711839600000, 1711922400000, 'hour', timezone='Europe/Berlin')", Decimal(23)),
    # From 31 January to 29 February 2024 is no whole month, to 2 March is one.
    ("DATEDIFF(1706659200000, 1709164800000, 'month')", Decimal(0)),
    ("DATEDIFF(1706659200000, 1709337600000, 'month')", Decimal(1)),
    # From 29 February 2020 to 28 February 2024 are three years, a day later four.
    ("DATEDIFF(1582934400000, 1709078400000, 'year')", Decimal(3)),
    ("DATEDIFF(1582934400000, 1709164800000, 'year')", Decimal(4)),
    ("DATEPART(1735603200000, 'week')", Decimal(1)),
    ("DATEPART(1735603200000, 'weekday')", Decimal(2)),
    ("DATEPART(1735603200000, 'yearday')", Decimal(366)),
    ("DATEPART(1735603200000, 'YEAR', timezone='Asia/Tokyo')", Decimal(2024)),
    ("DATEPART(1735657200000, 'year', timezone='Asia/Tokyo')", Decimal(2025)),
    ("FLOOR(-0.5)", Decimal(-1)),
    ("FLOOR(1e-900)", Decimal(0)),
    ("FLOOR(2.999999999)", Decimal(2)),
    ('GET_VALUE(\'{"a":{"b":[1.10,"007"]}}\', \'$.a.b[0]\')', Decimal("1.10")),
    (r"""GET_VALUE('{"a":{"b":[1.10,"007"]}}', '$.a[\'b\'][1]')""", "007"),
    ("GET_VALUE('[{\"x\":1},{\"x\":null}]', '$..x')", (Decimal(1), None)),
    ("IF(true, 1, 1/0)", Decimal(1)),
    ("if(1 > 2, 1/0, 'no')", "no"),
    ("IFNULL(2, 1 / 0)", Decimal(2)),
    ("IFNULL(IFNULL(null, null), 'x')", "x"),
    ("LEN('')", Decimal(0)),
    ("LOG(0.001)", Decimal(-3)),
    ("LOG(8, 2)", Decimal(3)),
    ("LOG(2)", Decimal("0.3010299956639811952137388947244930")),
    ("LOG(1e900, 10)", Decimal(900)),
    ("LEN('Åpen 管')", Decimal(6)),
    ("LOWERCASE('ÀB')", "àb"),
    ("UPPERCASE('straße')", "STRASSE"),
    ("MAX(1, 1.5, -3)", Decimal("1.5")),
    ("MIN(1, 1.5, -3)", Decimal(-3)),
    ("MOD(7, 3)", Decimal(1)),
    ("MOD(-7, 3)", Decimal(2)),
    ("MOD(7, -3)", Decimal(-2)),
    ("MOD(6, -3)", Decimal(0)),
    ("MOD(7.5, 0.7)", Decimal("0.5")),
    ("NOT(false)", True),
    ("NUMBER('007.50')", Decimal("7.50")),
    ("NUMBER(3)", Decimal(3)),
    ("OR(false, 2 > 1)", True),
    ("OR(true, 1/0 == 1)", True),
    ("REPLACE('1,234,567', ',', '')", "1234567"),
    ("REPLACE('aaa', 'aa', 'b')", "ba"),
    ("ROUND(2.5)", Decimal(3)),
    ("ROUND(-2.345, 2)", Decimal("-2.35")),
    ("ROUND(1250, -2)", Decimal("1300")),
    ("SEARCH('natural gas', 'gas')", Decimal(8)),
    ("SEARCH('natural gas', 'GAS')", Decimal(-1)),
    ("SEARCH('natural gas', 'GAS', ignoreCase=true)", Decimal(8)),
    ("SET :v = 2\nset :w = :v * 3\n:w + :v", Decimal(8)),
    ("SPLIT('a1b22c', '\\d+')", ("a", "b", "c")),
    ("SPLIT('a,b,,', ',')", ("a", "b")),
    ("SPLIT('a,b,,', ',', limit=3)", ("a", "b", ",")),
    ("SPLIT('a b', ' ')[1]", "b"),
    ("SPLIT('abc', '')", ("a", "b", "c")),
    ("SWITCH(1, '1', 'one', '2', 'two')", "one"),
    ("SWITCH('B', 'a', 1, 'b', 2, ignoreCase=true)", Decimal(2)),
    ("SWITCH('x', 'a', 1/0, default=9)", Decimal(9)),
    ("SQRT(2.25)", Decimal("1.5")),
    ("SQRT(2)", Decimal("1.414213562373095048801688724209698")),
    ("SQRT(0)", Decimal(0)),
    ("SUBSTRING('natural gas', 8)", "gas"),
    ("SUBSTRING('natural gas', 0, 7)", "natural"),
    ("SUBSTRING('gas', 1, 9)", "as"),
    ("SUBSTRING('gas', 9, 1)", ""),
    ("TRIM(' \u00a0gas\t')", "gas"),
    ("SWITCH('a', 'a', null, 'a', 2)", None),
]
FAILURES = [
    ("AS_TIMESTAMP(:t, 'yyyy-MM-dd')", {"t": "2023-02-29"}, FormulaCode.INVALID_DATE),
    ("AS_TIMESTAMP('2023', :t)", {"t": "QQQ"}, FormulaCode.INVALID_DATE_PATTERN),
    ("AS_TIMESTAMP('2023', 'yyyy', timezone=:t)", {"t": "Mars/Base"}, FormulaCode.UNKNOWN_TIMEZONE),
    ("AS_TIMESTAMP('2023', 'yyyy', locale=:t)", {"t": "tlh"}, FormulaCode.UNKNOWN_LOCALE),
    ("AS_TIMESTAMP('2023', 'yyyy', roundDownTo=:t)", {"t": "era"}, FormulaCode.INVALID_ARGUMENT),
    ("COALESCE(1/:n, 2)", {"n": Decimal(0)}, FormulaCode.DIVISION_BY_ZERO),
    ("CONVERT(1, :t, 'kg')", {"t": "kWh"}, FormulaCode.INCOMPATIBLE_UNITS),
    ("CONVERT(1, :t, 'kg')", {"t": "parrot"}, FormulaCode.UNKNOWN_UNIT),
    ("CONVERT(1, :t, 'L')", {"t": "gallon"}, FormulaCode.AMBIGUOUS_UNIT),
    ("CONVERT(1, 'm', 'ft', qualityKind=:t)", {"t": "Taste"}, FormulaCode.INVALID_ARGUMENT),
    ("GET_VALUE(:t, '$.b')", {"t": '{"a":1}'}, FormulaCode.PATH_NOT_FOUND),
    ("GET_VALUE(:t, '$.b')", {"t": "{"}, FormulaCode.INVALID_JSON),
    ("GET_VALUE('{}', :t)", {"t": "$[?(@.x)]"}, FormulaCode.INVALID_PATH),
    ("IF(GET_VALUE(:t, '$'), 1, 2)", {"t": "null"}, FormulaCode.NULL_OPERAND),
    ("DATEDIFF(0, :n, 'day')", {"n": Decimal("1e20")}, FormulaCode.INVALID_DATE),
    ("DATEPART(:n, 'day')", {"n": Decimal("-1e17")}, FormulaCode.INVALID_DATE),
    ("DATEPART(0, :t)", {"t": "age"}, FormulaCode.INVALID_ARGUMENT),
    ("DATEPART(0, 'day', timezone=:t)", {"t": "Mars/Base"}, FormulaCode.UNKNOWN_TIMEZONE),
    ("LEN(:x)", {"x": None}, FormulaCode.NULL_OPERAND),
    ("LOG(:n)", {"n": Decimal(0)}, FormulaCode.INVALID_ARGUMENT),
    ("LOG(2, :n)", {"n": Decimal(1)}, FormulaCode.INVALID_ARGUMENT),
    ("LOWERCASE(:x)", {"x": None}, FormulaCode.NULL_OPERAND),
    ("MOD(1, :n)", {"n": Decimal(0)}, FormulaCode.DIVISION_BY_ZERO),
    ("MOD(1e9000, :n)", {"n": Decimal(3)}, FormulaCode.NUMBER_OUT_OF_RANGE),
    ("REPLACE('a', :t, 'b')", {"t": ""}, FormulaCode.INVALID_ARGUMENT),
    ("REPLACE(:t, 'a', 'bb')", {"t": "a" * MAX_STRING}, FormulaCode.STRING_TOO_LONG),
    ("SQRT(:n)", {"n": Decimal(-1)}, FormulaCode.INVALID_ARGUMENT),
    ("SUBSTRING('gas', :n)", {"n": Decimal(-1)}, FormulaCode.INVALID_ARGUMENT),
    ("SUBSTRING('gas', 0, :n)", {"n": Decimal("0.5")}, FormulaCode.INVALID_ARGUMENT),
    ("NUMBER(:t)", {"t": "2,500"}, FormulaCode.NOT_A_NUMBER),
    ("ROUND(1, :n)", {"n": Decimal("0.5")}, FormulaCode.INVALID_ARGUMENT),
    ("SPLIT(:t, ',')[3]", {"t": "a,b"}, FormulaCode.INDEX_OUT_OF_RANGE),
    ("SPLIT('a', :t)", {"t": "(?=x)"}, FormulaCode.INVALID_REGEX),
    ("SPLIT('a', ',', limit=:n)", {"n": Decimal(0)}, FormulaCode.INVALID_ARGUMENT),
    ("SWITCH(:t, 'a', 1)", {"t": "b"}, FormulaCode.NO_CASE_MATCHES),
    ("SWITCH(:x, 'a', 1, default=2)", {"x": None}, FormulaCode.NULL_OPERAND),
    ("CONCAT(:t, 'x')", {"t": "a" * MAX_STRING}, FormulaCode.STRING_TOO_LONG),
    ("-NUMBER(:x)", {"x": None}, FormulaCode.NULL_OPERAND),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN, ids=[text for text, _ in GOLDEN])
def test_a_function_answers(text: str, expected: Value) -> None:
    found = value(text)

    assert (type(found), found) == (type(expected), expected)


@pytest.mark.parametrize(("text", "row", "expected"), FAILURES, ids=[row[0] for row in FAILURES])
def test_a_function_fails(text: str, row: dict[str, object], expected: FormulaCode) -> None:
    assert code(text, **row) == expected


def test_every_function_of_the_language_has_a_golden_row() -> None:
    shown = {text.split("(")[0].split("\n")[-1].upper() for text, _ in GOLDEN}

    assert set(FUNCTIONS) - shown == {"IMPACT", "LOOKUP", "REF"}
    assert set(UNSUPPORTED) == {"ASSIGN_TO_GROUP", "CAML", "EMISSION_FACTOR", "GET"}


def test_impact_multiplies_the_factor_of_the_documents_own_example() -> None:
    compiled = compile_formula(VEHICLE_FORMULA, VEHICLE)
    row = {"vehicleType": "car", "pollutant": "co2", "distance": "12.5"}

    assert compiled.run(row, FACTORS) == Decimal("4.37750")
    assert compiled.run({**row, "passengers": 3}, FACTORS) == Decimal("6.56250")
    assert compiled.run({**row, "passengers": 0}, FACTORS) == Decimal("4.37750")


def test_an_absent_emission_factor_is_named() -> None:
    failed = failure("IMPACT('vehicles', 'boat', 'co2')", FACTORS)

    assert failed.code == FormulaCode.IMPACT_NOT_FOUND
    assert failed.message == "there is no emission factor for 'vehicles', 'boat', 'co2'"


def test_an_unknown_activity_or_dataset_or_column_is_an_error() -> None:
    data = table(("key", "value"), ("a", Decimal(1)))

    assert code("IMPACT('nothing', 'a', 'b')", FACTORS) == FormulaCode.UNKNOWN_DATASET
    assert code("LOOKUP('nothing', 'a')", data) == FormulaCode.UNKNOWN_DATASET
    assert code("LOOKUP('a', 'table', 'key', 'nothing')", data) == FormulaCode.UNKNOWN_DATASET


def test_lookup_is_exact_and_gas_does_not_hit_natural_gas() -> None:
    data = table(("fuel", "factor"), ("natural gas", Decimal("2.02")), ("gas", Decimal("2.3")))

    assert value("LOOKUP('gas', 'table', 'fuel', 'factor')", data) == Decimal("2.3")
    assert value("LOOKUP('Gas', 'table', 'fuel', 'factor')", data) is None


def test_lookup_takes_the_first_row_in_file_order() -> None:
    data = table(("key", "value"), ("a", "first"), ("a", "second"))

    assert value("LOOKUP('a', 'table', 'key', 'value')", data) == "first"


def test_lookup_keeps_text_as_text() -> None:
    data = table(("key", "value"), (Decimal("7.0"), "007"))

    assert value("LOOKUP(7, 'table', 'key', 'value')", data) == "007"
    assert value("LOOKUP('007', 'table', 'value', 'key')", data) == Decimal(7)


def test_lookup_with_two_arguments_uses_the_declared_key_and_the_first_other_column() -> None:
    rows = DatasetRows(
        ("factor", "fuel", "note"), [(Decimal("2.3"), "gas", "x")], key_column="fuel"
    )
    data = InMemoryDatasets({("vehicle_type", LATEST): rows})

    assert value("LOOKUP('vehicle_type', IN(:pin24))", data, pin24="gas") == Decimal("2.3")


def test_lookup_and_impact_ask_for_the_pinned_version() -> None:
    pinned = VersionPin(version=2, group="/a")
    data = InMemoryDatasets(
        {("d", pinned): DatasetRows(("k", "v"), [("a", Decimal(5))])},
        {("act", VersionPin(version_as_at="2024-01-01")): {("i", "c"): Decimal(6)}},
    )

    assert value("LOOKUP('d', 'a', version=2, group='/a')", data) == Decimal(5)
    assert value("IMPACT('act', 'i', 'c', versionAsAt='2024-01-01')", data) == Decimal(6)
    assert code("LOOKUP('d', 'a')", data) == FormulaCode.UNKNOWN_DATASET


def test_a_factor_of_a_dataset_is_a_number_of_a_row_and_a_column() -> None:
    columns = ("note", "vehicle", "co2", "ch4")
    rows = DatasetRows(columns, [("x", "car", Decimal("0.35"), None)], key_column="vehicle")

    assert rows.factor("car", "co2") == Decimal("0.35")
    assert [rows.factor("bus", "co2"), rows.factor("car", "n2o")] == [None, None]
    with pytest.raises(Fault, match="the emission factor for 'car', 'ch4' is empty"):
        rows.factor("car", "ch4")
    with pytest.raises(Fault, match="the column 'note' holds no numbers"):
        rows.factor("car", "note")


def test_an_emission_factor_in_memory_is_a_finite_number() -> None:
    with pytest.raises(ValueError, match="not an emission factor"):
        InMemoryDatasets(impacts={("a", LATEST): {("b", "c"): Decimal("NaN")}})
