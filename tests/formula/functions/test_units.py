from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.functions.unit_table import UNITS, Unit
from penstock.formula.functions.units import convert


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


def casings(symbol: str) -> list[str]:
    """Return every text that differs from the symbol in the case of some letters only."""
    letters = (dict.fromkeys((letter.lower(), letter.upper())) for letter in symbol)
    return [text for text in map("".join, product(*letters)) if text != symbol]


def test_another_casing_of_a_symbol_is_another_unit_or_unknown() -> None:
    symbols = {symbol: unit for unit in UNITS for symbol in unit.symbols}
    labels = {label for unit in UNITS for label in unit.labels}
    walked = 0
    for symbol, unit in symbols.items():
        for text in casings(symbol):
            walked += 1
            if text in symbols:
                other = symbols[text]
                same = unit.symbols[0] if unit.kind == other.kind else text
                expected = other.size / (unit.size if unit.kind == other.kind else other.size)
                assert Fraction(convert(Decimal(1), text, same)) == expected, text
            elif text.lower() not in labels:
                with pytest.raises(Fault) as caught:
                    convert(Decimal(1), text, symbol)
                assert caught.value.code is FormulaCode.UNKNOWN_UNIT, text
    assert walked > 500


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
