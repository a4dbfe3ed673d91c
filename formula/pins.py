"""The options which say what version is meant; as literals, so that data can be fetched first."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from penstock.formula.datasets import Pin
from penstock.formula.errors import Code, Position
from penstock.formula.tree import Literal, Option

_TEXTS = {"versionAsAt": "a time as text", "group": "a group as text"}
_MAX_VERSION = 10**9


def pin_of(options: Sequence[Option]) -> Pin:
    """Return the pin of options in which `pin_problems` finds no fault."""
    given = {o.name: o.value.value for o in options if isinstance(o.value, Literal)}
    version, as_at, group = given.get("version"), given.get("versionAsAt"), given.get("group")
    return Pin(
        int(version) if isinstance(version, Decimal) else None,
        as_at if isinstance(as_at, str) else None,
        group if isinstance(group, str) else None,
    )


def pin_problems(options: Sequence[Option]) -> Iterator[tuple[Code, str, Position]]:
    """Yield what is wrong with the version options of a call."""
    names = {option.name for option in options}
    for option in options:
        if option.name == "tenant":
            yield Code.UNSUPPORTED_OPTION, "data of other tenants cannot be read", option.at
        elif option.name == "version" or option.name in _TEXTS:
            yield from _literal_problem(option)
        if option.name == "version" and "versionAsAt" in names:
            message = "give `version` or `versionAsAt`, not both"
            yield Code.CONFLICTING_OPTIONS, message, option.at


def _literal_problem(option: Option) -> Iterator[tuple[Code, str, Position]]:
    value = option.value.value if isinstance(option.value, Literal) else None
    if option.name == "version":
        whole = isinstance(value, Decimal) and value == value.to_integral_value()
        fine = whole and isinstance(value, Decimal) and 1 <= value <= _MAX_VERSION
    else:
        fine = isinstance(value, str)
    if not fine:
        wanted = _TEXTS.get(option.name, "a whole number from 1")
        message = f"`{option.name}` must be written out, as {wanted}"
        yield Code.OPTION_NOT_LITERAL, message, option.at
