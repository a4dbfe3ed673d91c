"""The tree of a parsed formula; chains of operators are flat, so long formulas are not deep."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Literal as OneOf

import msgspec

from penstock.formula.core.errors import Position

Operator = OneOf["+", "-", "*", "/", "^", "<", "<=", ">", ">=", "==", "!="]
COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))


class Literal(msgspec.Struct, frozen=True):
    """A number, text, `true`, `false` or `null`."""

    at: Position
    value: Decimal | str | bool | None


class Name(msgspec.Struct, frozen=True):
    """A parameter or variable, written `:name`."""

    at: Position
    name: str


class Negate(msgspec.Struct, frozen=True):
    """A unary minus."""

    at: Position
    operand: "Expression"


class ChainStep(msgspec.Struct, frozen=True):
    """One operator of a chain with its right operand; `at` is the operator's place."""

    at: Position
    operator: Operator
    operand: "Expression"


class Chain(msgspec.Struct, frozen=True):
    """Operators of one precedence, applied from left to right."""

    at: Position
    first: "Expression"
    steps: tuple[ChainStep, ...]


class Option(msgspec.Struct, frozen=True):
    """A named option of a call, written `name=value`."""

    at: Position
    name: str
    value: "Expression"


class FunctionCall(msgspec.Struct, frozen=True):
    """A call of a function of the language; `name` is in capitals."""

    at: Position
    name: str
    arguments: tuple["Expression", ...]
    options: tuple[Option, ...] = ()


class CalculationCall(msgspec.Struct, frozen=True):
    """A call of a calculation by its name, written `#name(...)`."""

    at: Position
    name: str
    arguments: tuple["Expression", ...]
    options: tuple[Option, ...] = ()


class Index(msgspec.Struct, frozen=True):
    """One element of a list, counted from 0."""

    at: Position
    operand: "Expression"
    index: int


class Assign(msgspec.Struct, frozen=True):
    """A line that names a value for the lines below: `SET :name = value`."""

    at: Position
    name: str
    value: "Expression"


Expression = Literal | Name | Negate | Chain | FunctionCall | CalculationCall | Index
Line = Assign | Expression


class Formula(msgspec.Struct, frozen=True):
    """A whole formula: its text and its lines, the last of which is the result."""

    text: str
    lines: tuple[Line, ...]


def children(node: Line) -> tuple[Expression, ...]:
    """Return the parts directly inside a node, in the order of the text."""
    match node:
        case Negate() | Index():
            return (node.operand,)
        case Chain():
            return (node.first, *(step.operand for step in node.steps))
        case FunctionCall() | CalculationCall():
            return (*node.arguments, *(option.value for option in node.options))
        case Assign():
            return (node.value,)
        case _:
            return ()


def walk(formula: Formula) -> Iterator[Line]:
    """Yield every node, parents before their parts, in the order of the text."""
    waiting: list[Line] = list(reversed(formula.lines))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
