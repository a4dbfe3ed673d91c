"""Writes `formula/functions/unit_registry.txt` from the registry of pint, with exact sizes.

`python -m tests.formula.functions.make_unit_registry > formula/functions/unit_registry.txt`
"""

import re
import sys
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from itertools import chain
from typing import Any, Final, NamedTuple

from pint import UnitRegistry
from pint.errors import DimensionalityError
from pint.facets.plain import ScaleConverter

from penstock.formula.functions.unit_table import DIMENSIONS, UNITS, Unit

SECTIONS_LEFT_OUT: Final = ("Printer", "Textile", "Gaussian", "ESU", "SymbolE")
NAMES_LEFT_OUT: Final = re.compile(
    r"atomic|planck|conventional|international_(ampere|volt|ohm)|approximate|lambda|particle"
    r"|decibel|delta_|degree|^kelvin|unit_pole|^bag$|^quad"
)
SHARED_NAMES: Final = {
    *("minim", "gill", "cup", "peck", "bushel", "hundredweight", "quarter", "pint", "quart"),
    *("gallon", "fluid_ounce", "barrel", "ton", "force_ton", "ton_force", "horsepower", "month"),
}
"""Names that the United States and Britain, or different trades, give to different units."""

SHARED_SYMBOLS: Final = {
    *("pt", "qt", "pk", "bu", "gi", "floz", "fldr", "dgal", "dpi", "dqt", "cwt", "jig", "tsp"),
    *("tbsp", "cp", "th", "blob", "hp", "dr", "li", "fur"),
}
"""Symbols that stand for several units in trade, or for other things."""

ONE_LETTER: Final = frozenset("ANCVFSTH")
PREFIXED: Final = ("A", "V", "Hz", "N", "Ω", "F", "C", "mol", "Bq", "eV")
PREFIXES: Final = {"m": "0.001", "k": "1000", "M": "1000000", "G": "1000000000"}
PREFIX_NAMES: Final = {"m": "milli", "k": "kilo", "M": "mega", "G": "giga"}
MOST_DIGITS: Final = 40
"""Digits of an exact size; a size with more is measured, or has pi in it."""


class RegistryUnit(NamedTuple):
    """A unit of the registry: labels, symbols, exponents of the dimensions, and its SI size."""

    labels: list[str]
    symbols: list[str]
    exponents: tuple[int, ...]
    size: Fraction

    def line(self) -> str:
        powers = " ".join(map(str, self.exponents))
        return f"{', '.join(self.labels)} | {', '.join(self.symbols)} | {powers} | {self.size}"


def left_out_names() -> set[str]:
    """The names of the constants, and of the sections that are left out."""
    text = files("pint").joinpath("default_en.txt").read_text("utf-8")
    constants = files("pint").joinpath("constants_en.txt").read_text("utf-8")
    found = set(re.findall(r"^(\w+) *=", constants, re.MULTILINE))
    for section in re.findall(r"^@group (\w+)[^\n]*\n(.*?)^@end", text, re.MULTILINE | re.DOTALL):
        if section[0].startswith(SECTIONS_LEFT_OUT):
            found |= set(re.findall(r"^\s*(\w+) *=", section[1], re.MULTILINE))
    return found | set(re.findall(r"^\s*(\w+) *=.*approximate", text, re.MULTILINE))


def registry_units() -> list[RegistryUnit]:
    """The units that are multiples of SI units, without those of the table of Penstock."""
    registry: Any = UnitRegistry(non_int_type=Fraction)
    left_out = left_out_names()
    definitions = {one.name: one for one in registry._units.values()}
    found = []
    for name, definition in sorted(definitions.items()):
        simple = isinstance(definition.converter, ScaleConverter)
        if not simple or name in left_out or NAMES_LEFT_OUT.search(name):
            continue
        try:
            size, _ = registry.get_base_units(name)
            powers = registry.get_dimensionality(name)
        except (DimensionalityError, TypeError, ZeroDivisionError, ValueError):
            continue
        made = _unit(definition, Fraction(size), {key.strip("[]"): n for key, n in powers.items()})
        found += [] if made is None else [made]
    return _without_doubles([*found, *_with_prefixes(found)])


def _unit(definition: Any, size: Fraction, powers: dict[str, Fraction]) -> RegistryUnit | None:
    digits = len(str(size.numerator)) + len(str(size.denominator))
    known = set(powers) <= set(DIMENSIONS) and all(n.denominator == 1 for n in powers.values())
    if not known or digits > MOST_DIGITS or not any(powers.values()):
        return None
    names = [definition.name, *definition.aliases]
    labels = [one for one in names if re.fullmatch(r"[A-Za-z][A-Za-z_]{2,}", one)]
    labels = [one for one in labels if one not in SHARED_NAMES]
    symbol = definition.defined_symbol
    fits = symbol and re.fullmatch(r"[A-Za-zΩ]+", symbol) and symbol not in SHARED_SYMBOLS
    symbols = [symbol] if fits and (len(symbol) > 1 or symbol in {*ONE_LETTER, "Ω"}) else []
    exponents = tuple(int(powers.get(one, 0)) for one in DIMENSIONS)
    return RegistryUnit([one.replace("_", " ").lower() for one in labels], symbols, exponents, size)


def _with_prefixes(units: list[RegistryUnit]) -> list[RegistryUnit]:
    plain = {one: unit for unit in units for one in unit.symbols if one in PREFIXED}
    return [
        unit._replace(
            labels=[f"{PREFIX_NAMES[prefix]}{label}" for label in unit.labels[:1]],
            symbols=[f"{prefix}{symbol}"],
            size=unit.size * Fraction(PREFIXES[prefix]),
        )
        for symbol, unit in plain.items()
        for prefix in PREFIXES
    ]


def _without_doubles(units: list[RegistryUnit]) -> list[RegistryUnit]:
    """Leave out names that other units have; and symbols that differ from others by case alone."""
    labels = Counter(chain.from_iterable(unit.labels for unit in units))
    taken_labels = {label for unit in UNITS for label in unit.labels}
    taken = {symbol.casefold() for unit in UNITS for symbol in unit.symbols}
    exact = {symbol for unit in UNITS for symbol in unit.symbols}
    prefixed = {f"{prefix}{one}" for prefix in PREFIXES for one in PREFIXED}
    folded = Counter(
        _casing_key(unit, one)
        for unit in chain[Unit | RegistryUnit](UNITS, units)
        for one in unit.symbols
    )
    found = []
    for unit in units:
        kept = [one for one in unit.labels if labels[one] == 1]
        kept = [one for one in kept if one not in taken_labels and one not in taken]
        free = [
            one
            for one in unit.symbols
            if one not in exact and (one in prefixed or folded[_casing_key(unit, one)] == 1)
        ]
        if kept or free:
            found.append(unit._replace(labels=list(dict.fromkeys(kept)), symbols=free))
    return found


def _casing_key(unit: Unit | RegistryUnit, symbol: str) -> tuple[str, tuple[int, ...]]:
    return symbol.casefold(), unit.exponents


if __name__ == "__main__":
    sys.stdout.writelines(f"{unit.line()}\n" for unit in registry_units())
