"""The datasets that a formula reads, and the options that select their version.

These options must be literals, so that the data can be fetched before evaluation.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

import msgspec

from penstock.formula.core.datasets import VersionPin
from penstock.formula.core.errors import FormulaCode, Position
from penstock.formula.functions.catalogue import FUNCTIONS
from penstock.formula.syntax.tree import Formula, FunctionCall, Literal, Option, walk

_TEXTS = {"versionAsAt": "a time as text", "label": "a label as text", "group": "a group as text"}
_SELECTORS = ("version", "versionAsAt", "label")
_MAX_VERSION = 10**9


def pin_of(options: Sequence[Option]) -> VersionPin:
    """Return the pin of options in which `pin_problems` finds no problem."""
    given = {o.name: o.value.value for o in options if isinstance(o.value, Literal)}
    version = given.get("version")
    as_at, label, group = (_text(given.get(name)) for name in ("versionAsAt", "label", "group"))
    return VersionPin(int(version) if isinstance(version, Decimal) else None, as_at, group, label)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def pin_problems(options: Sequence[Option]) -> Iterator[tuple[FormulaCode, str, Position]]:
    """Yield the problems of a call's version options."""
    selectors = [one for one in _SELECTORS if one in {option.name for option in options}]
    for option in options:
        if option.name == "tenant":
            yield FormulaCode.UNSUPPORTED_OPTION, "data of other tenants cannot be read", option.at
        elif option.name == "version" or option.name in _TEXTS:
            yield from _literal_problem(option)
        if option.name in selectors[1:]:
            message = f"give `{selectors[0]}` or `{option.name}`, not both"
            yield FormulaCode.CONFLICTING_OPTIONS, message, option.at


def _literal_problem(option: Option) -> Iterator[tuple[FormulaCode, str, Position]]:
    value = option.value.value if isinstance(option.value, Literal) else None
    if option.name == "version":
        whole = isinstance(value, Decimal) and value == value.to_integral_value()
        fine = whole and isinstance(value, Decimal) and 1 <= value <= _MAX_VERSION
    else:
        fine = isinstance(value, str)
    if not fine:
        wanted = _TEXTS.get(option.name, "a whole number from 1")
        message = f"`{option.name}` must be written out, as {wanted}"
        yield FormulaCode.OPTION_NOT_LITERAL, message, option.at


class DatasetUse(msgspec.Struct, frozen=True):
    """A dataset that a formula reads; `name` is None when it depends on the row."""

    function: str
    name: str | None
    pin: VersionPin
    columns: tuple[str | None, str | None] | None = None


def datasets_of(formula: Formula) -> tuple[DatasetUse, ...]:
    """Return the datasets that a parsed formula reads, each once, in the order of the text."""
    return tuple(dict.fromkeys(map(dataset_use, dataset_calls(formula))))


def dataset_calls(formula: Formula) -> Iterator[FunctionCall]:
    """Yield the calls of IMPACT and LOOKUP, in the order of the text."""
    return (
        node for node in walk(formula) if isinstance(node, FunctionCall) and _reads_dataset(node)
    )


def dataset_use(node: FunctionCall) -> DatasetUse:
    """Return the dataset that a call of IMPACT or LOOKUP with valid arguments reads."""
    pin, place = pin_of(node.options), dataset_place(node.name, len(node.arguments))
    if place == 0:
        return DatasetUse(node.name, text_at(node, place), pin)
    columns = (text_at(node, 2), text_at(node, 3))
    return DatasetUse(node.name, text_at(node, place), pin, columns)


def dataset_place(function: str, count: int) -> int:
    """Return the place of the dataset's name among so many arguments of IMPACT or LOOKUP."""
    return 0 if function == "IMPACT" or count == 2 else 1


def text_at(node: FunctionCall, place: int) -> str | None:
    """Return the argument if it is a text literal; None for any other."""
    argument = node.arguments[place]
    found = argument.value if isinstance(argument, Literal) else None
    return found if isinstance(found, str) else None


def _reads_dataset(node: FunctionCall) -> bool:
    function = FUNCTIONS.get(node.name)
    return function is not None and function.pinned and function.takes(len(node.arguments))
