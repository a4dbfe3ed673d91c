"""Checks literal arguments with the formula, so that they do not fail later on a row."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode, Position
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.values import Scalar
from penstock.formula.functions import dates, json_path, units
from penstock.formula.functions.catalogue import Function
from penstock.formula.functions.date_patterns import date_pattern
from penstock.formula.functions.locales import locale_of
from penstock.formula.functions.regex import regex
from penstock.formula.syntax.tree import FunctionCall, Literal

Given = Mapping[str, Scalar]


def _try_units(given: Given) -> None:
    source, target = given.get("source"), given.get("target")
    kinds = (given.get(name) for name in ("qualityKind", "quantityKind"))
    if isinstance(source, str) and isinstance(target, str):
        known = [kind if isinstance(kind, str) else None for kind in kinds]
        units.convert(WorkMeter(), Decimal(0), source, target, *known)


def _try_date(given: Given) -> None:
    tag, pattern = given.get("locale"), given.get("pattern")
    locale = locale_of(tag if isinstance(tag, str) else None)
    if isinstance(pattern, str):
        date_pattern(pattern, locale.names, WorkMeter())
    if isinstance(zone := given.get("timezone"), str):
        dates.zone_named(zone)
    if isinstance(period := given.get("roundDownTo"), str):
        dates.period_named(period)


def _try_regex(given: Given) -> None:
    if isinstance(pattern := given.get("regex"), str):
        regex(pattern, WorkMeter())


def _try_path(given: Given) -> None:
    if isinstance(path := given.get("path"), str):
        json_path.steps_of(path)


_TRIALS: Final[Mapping[str, Callable[[Given], None]]] = {
    "AS_TIMESTAMP": _try_date,
    "CONVERT": _try_units,
    "GET_VALUE": _try_path,
    "SPLIT": _try_regex,
}


def literal_problems(
    call: FunctionCall, function: Function
) -> Iterator[tuple[FormulaCode, str, Position]]:
    """Yield the problems that the literal arguments of a call cause for every row."""
    trial = _TRIALS.get(call.name)
    if trial is None:
        return
    slots = function.slots_for(len(call.arguments))
    named = [(slot.name, node) for slot, node in zip(slots, call.arguments, strict=True)]
    named += [(option.name, option.value) for option in call.options]
    given = {name: node.value for name, node in named if isinstance(node, Literal)}
    try:
        trial(given)
    except Fault as fault:
        yield fault.code, fault.message, call.at
