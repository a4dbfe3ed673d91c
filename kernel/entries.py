"""From an entry of a row to its value; what most files are made of is read the short way."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from penstock.formula.inputs import binder
from penstock.formula.limits import MAX_STRING
from penstock.formula.values import Parameter, Value, ValueType

_plain: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?").fullmatch
"""Numbers that cannot be beyond any limit."""


def reader(parameter: Parameter) -> Callable[[object], Value]:
    """The function that turns an entry into a value, as `penstock.formula.inputs.binder` has it."""
    bind = binder(parameter)

    def number(entry: object) -> Value:
        return Decimal(entry) if type(entry) is str and _plain(entry) else bind(entry)

    def text(entry: object) -> Value:
        return entry if type(entry) is str and len(entry) <= MAX_STRING else bind(entry)

    match parameter.type:
        case ValueType.NUMBER:
            return number
        case ValueType.STRING:
            return text
        case _:
            return bind
