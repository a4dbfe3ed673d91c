"""CONVERT: exact conversion between units of one kind."""

from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Final

import msgspec

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.numbers import EXACT, ONE, QUOTIENT, add, multiply
from penstock.formula.core.remembered import remember
from penstock.formula.functions.short_names import cut_name
from penstock.formula.functions.unit_names import find_units, require_one
from penstock.formula.functions.unit_table import KINDS, Unit

_LINE_COST: Final = 2_000  # units for a conversion that is found
_READ_COST: Final = 100  # units for a character of the names of its units, which may be compounds
_KINDS: Final = {kind.lower(): kind for kind in KINDS}


class _Line(msgspec.Struct, frozen=True):
    """A conversion: `(value * factor + addend) / divisor`; the divisor is 1 where it can be."""

    factor: Decimal
    addend: Decimal
    divisor: Decimal


def convert(
    work: WorkMeter, number: Decimal, source: str, target: str, *kinds: str | None
) -> Decimal:
    """Convert a number between units, each given by symbol (`kWh`) or label (`kilowatt hour`).

    A symbol is written as it stands, because `Mg` is not `mg`; a label may have any case. Compounds
    of both, and codes of QUDT, are units too. `kinds` are the options that name the kind of both.

    Exact where the conversion has finitely many decimals, otherwise to 34 digits, half-even.
    """
    source, target = cut_name(source), cut_name(target)
    known = tuple(None if kind is None else cut_name(kind) for kind in kinds)
    cost = _LINE_COST + _READ_COST * (len(source) + len(target))
    work.prepare((source, target, known), cost)
    line = _line(source, target, *known)
    value = add(multiply(number, line.factor), line.addend)
    return value if line.divisor == 1 else QUOTIENT.divide(value, line.divisor)


@remember(1024)
def _line(source: str, target: str, *options: str | None) -> _Line:
    kinds = {_kind(kind) for kind in options if kind is not None}
    if len(kinds) > 1:
        raise Fault(
            FormulaCode.INVALID_ARGUMENT, "`qualityKind` and `quantityKind` mean the same option"
        )
    kind = kinds.pop() if kinds else None
    from_, to = _unit_named(source, kind), _unit_named(target, kind)
    if from_.exponents != to.exponents:
        message = f"{source!r} is of {from_.kind}, {target!r} of {to.kind}"
        raise Fault(FormulaCode.INCOMPATIBLE_UNITS, message)
    slope = from_.size / to.size
    return _decimals(slope, from_.offset * slope - to.offset)


def _decimals(slope: Fraction, shift: Fraction) -> _Line:
    divisor = lcm(slope.denominator, shift.denominator)
    factor, addend = Decimal(int(slope * divisor)), Decimal(int(shift * divisor))
    if not _is_finite(divisor):
        return _Line(factor, addend, Decimal(divisor))
    inverse = EXACT.divide(ONE, Decimal(divisor))
    return _Line(multiply(factor, inverse), multiply(addend, inverse), ONE)


def _is_finite(divisor: int) -> bool:
    """Whether 1 / `divisor` has finitely many decimals."""
    for prime in (2, 5):
        while divisor % prime == 0:
            divisor //= prime
    return divisor == 1


def _kind(name: str) -> str:
    kind = _KINDS.get(name.lower())
    if kind is None:
        raise Fault(
            FormulaCode.INVALID_ARGUMENT, f"the kind {name[:40]!r} is none of {', '.join(KINDS)}"
        )
    return kind


def _unit_named(name: str, kind: str | None) -> Unit:
    fitting = [unit for unit in find_units(name) if kind in {None, unit.kind}]
    return require_one(name, fitting, f" of {kind}" if kind else "")
