from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.functions import units as unit_functions
from penstock.formula.functions.unit_table import UNITS, Unit, registry_units
from tests.formula.functions import make_unit_registry


def convert(number: Decimal, *names: str) -> Decimal:
    return unit_functions.convert(WorkMeter(), number, *names)


@pytest.mark.parametrize(
    ("number", "source", "target", "expected"),
    [
        ("1", "mi", "km", "1.609344"),
        ("1", "Kilometre", "mile", "0.6213711922373339696174341843633182"),
        ("2.5", "lb", "kg", "1.133980925"),
        ("1", "t", "short ton", "1.102311310924387903614869006725135"),
        ("1", "gal (UK)", "L", "4.54609"),
        ("1", "therm", "kWh", "29.30710701722222222222222222222222"),
        ("100", "°C", "°F", "212"),
        ("-40", "degF", "degC", "-40"),
        ("0", "K", "degree Celsius", "-273.15"),
        ("36", "km/h", "m/s", "10"),
        ("1", "acre", "ha", "0.40468564224"),
        ("1", "week", "h", "168"),
        ("1", "atm", "kPa", "101.325"),
        ("1", "mechanical horsepower", "W", "745.69987158227022"),
        ("5", "mW", "W", "0.005"),
        ("5", "MW", "W", "5000000"),
    ],
)
def test_a_number_is_converted(number: str, source: str, target: str, expected: str) -> None:
    assert convert(Decimal(number), source, target) == Decimal(expected)


REFUSED = (FormulaCode.UNKNOWN_UNIT, FormulaCode.INCOMPATIBLE_UNITS)


def casings(symbol: str) -> list[str]:
    """Return every text that differs from the symbol in the case of some letters only."""
    letters = (dict.fromkeys((letter.lower(), letter.upper())) for letter in symbol)
    return [text for text in map("".join, product(*letters)) if text != symbol]


def test_another_casing_of_a_symbol_is_another_unit_or_unknown() -> None:
    units = [*UNITS, *registry_units()]
    symbols = {symbol: unit for unit in units for symbol in unit.symbols}
    labels = {label for unit in units for label in unit.labels}
    assert len(symbols) == sum(len(unit.symbols) for unit in units)
    walked = 0
    for symbol, unit in symbols.items():
        for text in casings(symbol):
            walked += 1
            if text in symbols:
                other = symbols[text]
                same = unit.symbols[0] if unit.kind == other.kind else text
                expected = other.size / (unit.size if unit.kind == other.kind else other.size)
                assert Fraction(convert(Decimal(1), text, same)) == expected, text
            elif text.lower() not in labels and "·" not in text:
                # The parts of a compound are symbols of their own, which are walked as well.
                with pytest.raises(Fault) as caught:
                    convert(Decimal(1), text, symbol)
                assert caught.value.code in REFUSED, text
    assert walked > 1_000


def test_symbols_of_one_kind_that_differ_in_case_alone_differ_by_a_prefix() -> None:
    found: dict[tuple[str, tuple[int, ...]], set[Unit]] = {}
    for unit in (*UNITS, *registry_units()):
        for symbol in unit.symbols:
            found.setdefault((symbol.casefold(), unit.exponents), set()).add(unit)
    for (symbol, _), units in found.items():
        sizes = sorted(unit.size for unit in units)
        assert all(large / sizes[0] in {1, 1000, 10**9} for large in sizes), symbol


def test_no_label_is_another_casing_of_a_symbol_of_its_kind() -> None:
    symbols = {
        (symbol.casefold(), unit.exponents): unit
        for unit in (*UNITS, *registry_units())
        for symbol in unit.symbols
    }
    for unit in (*UNITS, *registry_units()):
        for label in unit.labels:
            assert symbols.get((label, unit.exponents), unit) is unit, label


def test_the_registry_is_what_pint_says() -> None:
    lines = [unit.line() for unit in make_unit_registry.registry_units()]
    made = files("penstock.formula.functions").joinpath("unit_registry.txt").read_text("utf-8")
    assert made.splitlines() == lines


@pytest.mark.parametrize(
    ("number", "source", "target", "expected"),
    [
        ("1", "kg/kWh", "lb/MMBtu", "646.1111111111111111111111111111111"),
        ("3.6", "m3/h", "L/s", "1"),
        ("0.5", "kg/kWh", "g/MJ", "138.8888888888888888888888888888889"),
        ("1", "kilogram per kilowatt hour", "KiloGM-PER-KiloW-HR", "1"),
        ("1", "KiloGM-PER-KiloW-HR", "LB-PER-MegaBTU_IT", "646.1111111111111111111111111111111"),
        ("1", "unit:M3-PER-HR", "m³/h", "1"),
        ("20", "unit:DEG_C", "°F", "68"),
        ("5", "KiloM", "m", "5000"),
        ("1", "t·km", "kg*km", "1000"),
        ("1", "W/(m²·K)", "W/m2/K", "1"),
        ("1", "W/m2/°C", "W/(m²·K)", "1"),
        ("1", "mi/gal (US)", "km/L", "0.4251437074302720034011496594421760"),
        ("36", "km/h", "m/s", "10"),
        ("1", "m**3", "ft^3", "35.31466672148859025043801035400263"),
        ("2", "1/min", "1/h", "120"),
        ("1", "kN", "lbf", "224.8089430997104829100394134031775"),
        ("1", "fortnight", "d", "14"),
    ],
)
def test_compound_units_and_codes_of_qudt_are_units(
    number: str, source: str, target: str, expected: str
) -> None:
    assert convert(Decimal(number), source, target) == Decimal(expected)


@pytest.mark.parametrize(
    ("source", "target", "code", "message"),
    [
        ("kg/kWh", "kWh/kg", "INCOMPATIBLE_UNITS", "'kg/kWh' is of length^-2 time^2"),
        ("m3/h", "kg/h", "INCOMPATIBLE_UNITS", "'kg/h' of mass time^-1"),
        ("gallon/h", "L/h", "AMBIGUOUS_UNIT", "may be 'gal (US)' or 'gal (UK)'"),
        ("kg/KWH", "kg/kWh", "UNKNOWN_UNIT", "'kg/KWH'"),
        ("M", "m", "UNKNOWN_UNIT", "'M'"),
        ("KiloPARROT", "m", "UNKNOWN_UNIT", "'KiloPARROT'"),
        ("kg//h", "kg/h", "UNKNOWN_UNIT", "'kg//h'"),
        ("/", "kg", "UNKNOWN_UNIT", "'/'"),
        ("m·m·m·m·m·m·m·m·m", "m", "UNKNOWN_UNIT", "is not known"),
        ("m" * 10_000, "m", "UNKNOWN_UNIT", "is not known"),
    ],
)
def test_other_compounds_are_refused(source: str, target: str, code: str, message: str) -> None:
    with pytest.raises(Fault) as caught:
        convert(Decimal(1), source, target)
    assert caught.value.code == code
    assert message in caught.value.message


NAMES = st.text(st.sampled_from("kgmhWs²3^*/·() -PERKiloGM_:1."), max_size=30)


@given(NAMES)
def test_any_text_is_a_unit_or_a_fault(name: str) -> None:
    with suppress(Fault):
        assert convert(Decimal(1), name, name) == 1


@pytest.mark.parametrize(
    ("large", "small", "factor"),
    [
        ("Mg", "mg", "1000000000"),
        ("ML", "mL", "1000000000"),
        ("Mm", "mm", "1000000000"),
        ("Ms", "ms", "1000000000"),
        ("MW", "mW", "1000000000"),
        ("Cal", "cal", "1000"),
        ("Mg", "kg", "1000"),
        ("ML", "L", "1000000"),
    ],
)
def test_a_capital_prefix_is_another_unit(large: str, small: str, factor: str) -> None:
    assert convert(Decimal(1), large, small) == Decimal(factor)


def test_a_shared_label_is_ambiguous_and_its_symbols_are_not() -> None:
    with pytest.raises(Fault) as caught:
        convert(Decimal(1), "gallon", "L")

    assert caught.value.code == FormulaCode.AMBIGUOUS_UNIT
    assert caught.value.message == "the unit 'gallon' may be 'gal (US)' or 'gal (UK)'"
    assert convert(Decimal(1), "gal (US)", "L") == Decimal("3.785411784")


def test_a_kind_that_does_not_fit_is_refused() -> None:
    with pytest.raises(Fault) as caught:
        convert(Decimal(1), "kWh", "MJ", "Mass")

    assert caught.value.message == "the unit 'kWh' of Mass is not known"


same_kind = st.sampled_from(UNITS).flatmap(
    lambda unit: st.tuples(
        st.just(unit), st.sampled_from([u for u in UNITS if u.kind == unit.kind])
    )
)


@given(st.decimals(-(10**9), 10**9, places=3), same_kind)
def test_a_conversion_is_exact_or_right_to_34_digits(
    number: Decimal, pair: tuple[Unit, Unit]
) -> None:
    source, target = pair
    found = convert(number, source.symbols[0], target.symbols[0])
    expected = (Fraction(number) + source.offset) * source.size / target.size - target.offset

    assert abs(Fraction(found) - expected) <= abs(expected) * Fraction(1, 10**33)


@given(st.sampled_from(UNITS))
def test_every_label_and_symbol_means_one_unit_of_a_kind(unit: Unit) -> None:
    for name in unit.symbols:
        assert convert(Decimal(7), name, unit.symbols[0], unit.kind) == Decimal(7)
    for name in unit.labels:
        others = [u for u in UNITS if name in u.labels]
        if len(others) == 1:
            assert convert(Decimal(7), name.upper(), unit.symbols[0]) == Decimal(7)
