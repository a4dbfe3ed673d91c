"""The units by their names: symbols, labels, compounds of both such as `kg/kWh`, QUDT's codes."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.functions.short_names import LONGEST_NAME
from penstock.formula.functions.unit_table import DIMENSIONS, UNITS, Exponents, Unit, registry_units

MOST_FACTORS: Final = 8
_NO_EXPONENTS: Final = (0,) * len(DIMENSIONS)
_ONE: Final = Unit((), (), _NO_EXPONENTS, Fraction(1))
_POWERS: Final = {"²": 2, "³": 3, **{str(n): n for n in range(2, 7)}}
_power: Final = re.compile(r"(?P<unit>.+?)(?:\^|\*\*)?(?P<power>[²³2-6])").fullmatch
_split_quotient: Final = re.compile(r"\s*/\s*|\s+per\s+", re.IGNORECASE).split
_split_product: Final = re.compile(r"\s*(?:[·⋅]|(?<!\*)\*(?!\*))\s*").split


class _Names:
    """The units of one collection by their symbols and labels."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self._by_symbol: dict[str, list[Unit]] = {}
        self._by_label: defaultdict[str, list[Unit]] = defaultdict(list)
        for unit in units:
            for symbol in unit.symbols:
                self._by_symbol[symbol] = [unit]
            for label in unit.labels:
                self._by_label[label].append(unit)

    def find(self, name: str) -> list[Unit]:
        """Return the units with a symbol, or else with a label in any case."""
        return self._by_symbol.get(name) or self._by_label.get(name.lower(), [])


_OWN: Final = _Names(UNITS)


@cache
def _registry() -> _Names:
    return _Names(registry_units())


def find_units(name: str) -> list[Unit]:
    """Return the units that a name may mean; a compound means at most one.

    Raises Fault where a part of a compound may mean several.
    """
    if len(name) > LONGEST_NAME:
        return []
    found = _OWN.find(name) or _registry().find(name)
    if not found and (compound := _read_qudt(name) or _read_compound(name)):
        return [compound]
    return found


def require_one(name: str, units: list[Unit], of: str = "") -> Unit:
    """Return the only unit; raises Fault if there is none, or more than one."""
    if not units:
        raise Fault(FormulaCode.UNKNOWN_UNIT, f"the unit {name[:40]!r}{of} is not known")
    if len(units) > 1:
        choices = " or ".join(repr(unit.symbols[0]) for unit in units)
        raise Fault(FormulaCode.AMBIGUOUS_UNIT, f"the unit {name[:40]!r} may be {choices}")
    return units[0]


def _read_compound(name: str) -> Unit | None:
    """Read quotients of products of powers: `kg/kWh`, `t·km`, `W/(m²·K)`, `kilogram per hour`."""
    factors: list[tuple[str, int]] = []
    for n, part in enumerate(_split_quotient(name)):
        enclosed = part.startswith("(") and part.endswith(")")
        products = _split_product(part[1:-1] if enclosed else part)
        factors += [(one, -1 if n else 1) for one in products]
    if len(factors) == 1 and _power(name) is None:
        return None
    return _multiply(_read_factor(text, sign) for text, sign in factors)


def _read_factor(text: str, sign: int) -> tuple[Unit, int] | None:
    if text == "1":
        return _ONE, 1
    found = _OWN.find(text) or _registry().find(text)
    if found:
        return require_one(text, found), sign
    if parts := _power(text):
        found = _OWN.find(parts["unit"]) or _registry().find(parts["unit"])
        if found:
            return require_one(text, found), sign * _POWERS[parts["power"]]
    return None


def _multiply(factors: Iterable[tuple[Unit, int] | None]) -> Unit | None:
    """Return the product of powers of units; None if one of them is not known."""
    size, exponents = Fraction(1), _NO_EXPONENTS
    for n, factor in enumerate(factors):
        if factor is None or n >= MOST_FACTORS:
            return None
        unit, power = factor
        size *= unit.size**power
        exponents = _add(exponents, unit.exponents, power)
    return Unit((), (), exponents, size)


def _add(exponents: Exponents, others: Exponents, times: int) -> Exponents:
    return tuple(one + other * times for one, other in zip(exponents, others, strict=True))


_QUDT_PREFIXES: Final[Mapping[str, Fraction]] = {
    "Nano": Fraction(1, 10**9),
    "Micro": Fraction(1, 10**6),
    "Milli": Fraction(1, 1000),
    "Centi": Fraction(1, 100),
    "Deci": Fraction(1, 10),
    "Hecto": Fraction(100),
    "Kilo": Fraction(1000),
    "Mega": Fraction(10**6),
    "Giga": Fraction(10**9),
    "Tera": Fraction(10**12),
    "Peta": Fraction(10**15),
}
_QUDT_UNITS: Final[Mapping[str, str]] = {
    "M": "m",
    "FT": "ft",
    "IN": "in",
    "YD": "yd",
    "MI": "mi",
    "MI_N": "nmi",
    "GM": "g",
    "TONNE": "t",
    "TON_Metric": "t",
    "LB": "lb",
    "OZ": "oz",
    "TON_SHORT": "ton (US)",
    "TON_US": "ton (US)",
    "TON_LONG": "ton (UK)",
    "L": "L",
    "GAL_US": "gal (US)",
    "GAL_UK": "gal (UK)",
    "GAL_IMP": "gal (UK)",
    "BBL": "bbl",
    "J": "J",
    "W": "W",
    "CAL": "cal",
    "CAL_TH": "cal",
    "BTU_IT": "Btu",
    "TOE": "toe",
    "SEC": "s",
    "MIN": "min",
    "HR": "h",
    "DAY": "d",
    "WK": "wk",
    "YR": "year",
    "HA": "ha",
    "AC": "ac",
    "PA": "Pa",
    "BAR": "bar",
    "ATM": "atm",
    "PSI": "psi",
    "K": "K",
    "DEG_C": "°C",
    "DEG_F": "°F",
    "DEG_R": "°R",
    "HP": "hp",
    "A": "A",
    "V": "V",
    "N": "N",
    "HZ": "Hz",
    "MOL": "mol",
    "OHM": "Ω",
    "UNITLESS": "1",
}
_qudt_factor: Final = re.compile(
    rf"(?P<prefix>{'|'.join(_QUDT_PREFIXES)})?(?P<unit>[A-Z][A-Za-z_]*?)(?P<power>[2-6])?"
).fullmatch


def _read_qudt(name: str) -> Unit | None:
    """Read a code of QUDT: `KiloGM-PER-KiloW-HR`, `unit:M3-PER-HR`.

    A code of one unit without a prefix, such as `M`, needs `unit:` before it, because a symbol
    means another unit in other letter case.
    """
    code = name.removeprefix("unit:")
    factors = list(_qudt_factors(code))
    alone = len(factors) == 1 and factors[0] is not None
    if alone and code == name and not code.startswith(tuple(_QUDT_PREFIXES)):
        return None
    found = _multiply(factors)
    unit = factors[0][0] if alone and factors[0] else None
    if unit is not None and unit.offset and factors[0] == (unit, 1):
        return unit
    return found


def _qudt_factors(code: str) -> Iterator[tuple[Unit, int] | None]:
    above, *below = code.split("-PER-")
    for n, part in enumerate([above, *below]):
        for text in filter(None, part.removeprefix("PER-").split("-")):
            sign = -1 if n or code.startswith("PER-") else 1
            yield _read_qudt_factor(text, sign)


def _read_qudt_factor(text: str, sign: int) -> tuple[Unit, int] | None:
    parts = _qudt_factor(text)
    if parts is None or parts["unit"] not in _QUDT_UNITS:
        return None
    symbol = _QUDT_UNITS[parts["unit"]]
    unit = _ONE if symbol == "1" else (_OWN.find(symbol) or _registry().find(symbol))[0]
    if parts["prefix"]:
        unit = Unit((), (), unit.exponents, unit.size * _QUDT_PREFIXES[parts["prefix"]])
    return unit, sign * int(parts["power"] or 1)
