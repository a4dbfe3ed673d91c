"""Which data a formula asks for, as far as its text tells."""

from collections.abc import Iterator

import msgspec

from penstock.formula.datasets import Pin
from penstock.formula.functions import FUNCTIONS
from penstock.formula.pins import pin_of
from penstock.formula.tree import Call, Formula, Literal, walk


class DatasetUse(msgspec.Struct, frozen=True):
    """Data a formula asks for; `name` is None when only the row decides which."""

    function: str
    name: str | None
    pin: Pin
    columns: tuple[str | None, str | None] | None = None


def datasets_of(formula: Formula) -> tuple[DatasetUse, ...]:
    """Return what a formula that was read asks for, each once, in the order of the text."""
    return tuple(dict.fromkeys(map(dataset_use, asking(formula))))


def asking(formula: Formula) -> Iterator[Call]:
    """Yield the calls of IMPACT and LOOKUP, in the order of the text."""
    return (node for node in walk(formula) if isinstance(node, Call) and _asks(node))


def dataset_use(node: Call) -> DatasetUse:
    """Return what a call of IMPACT or LOOKUP asks for; it has as many arguments as they take."""
    pin = pin_of(node.options)
    if node.name == "IMPACT" or len(node.arguments) == 2:
        return DatasetUse(node.name, text_at(node, 0), pin)
    columns = (text_at(node, 2), text_at(node, 3))
    return DatasetUse(node.name, text_at(node, 1), pin, columns)


def text_at(node: Call, place: int) -> str | None:
    """Return the argument that is written out as text; None for any other."""
    argument = node.arguments[place]
    found = argument.value if isinstance(argument, Literal) else None
    return found if isinstance(found, str) else None


def _asks(node: Call) -> bool:
    function = FUNCTIONS.get(node.name)
    return function is not None and function.pinned and function.takes(len(node.arguments))
