"""Renders a parsed formula as text in a canonical form."""

from decimal import Decimal
from functools import singledispatch

from penstock.formula.core.values import text_of
from penstock.formula.syntax.tree import (
    Assign,
    CalculationCall,
    Chain,
    Expression,
    FunctionCall,
    Index,
    Line,
    Literal,
    Name,
    Negate,
)

_TIGHTNESS = {"^": 4, "*": 3, "/": 3, "+": 2, "-": 2}
_ATOM = 6
_UNARY = 5
_COMPARISON = 1
_PLAIN_DIGITS = 30


def render(node: Line) -> str:
    """Render a node with single spaces and the fewest brackets; parsing restores the node."""
    return _render(node)


@singledispatch
def _render(node: Line) -> str:
    raise TypeError(f"not part of a formula: {node!r}")


@_render.register
def _name(node: Name) -> str:
    return f":{node.name}"


@_render.register
def _negate(node: Negate) -> str:
    return f"-{_inside(node.operand, _UNARY)}"


@_render.register
def _index(node: Index) -> str:
    return f"{_inside(node.operand, _ATOM)}[{node.index}]"


@_render.register
def _call(node: FunctionCall) -> str:
    return f"{node.name}({_arguments(node)})"


@_render.register
def _custom(node: CalculationCall) -> str:
    return f"#{node.name}({_arguments(node)})"


@_render.register
def _assign(node: Assign) -> str:
    return f"SET :{node.name} = {render(node.value)}"


@_render.register
def _literal(node: Literal) -> str:
    if isinstance(node.value, Decimal) and abs(node.value.adjusted()) > _PLAIN_DIGITS:
        # Written with an exponent, as each part around it repeats what may be thousands of zeros.
        return str(node.value)
    if not isinstance(node.value, str):
        return text_of(node.value)
    return "'" + node.value.replace("\\", "\\\\").replace("'", "\\'") + "'"


@_render.register
def _chain(node: Chain) -> str:
    own = _tightness(node)
    parts = [_inside(node.first, own + 1)]
    for step in node.steps:
        parts += [step.operator, _inside(step.operand, own + 1)]
    return " ".join(parts)


def _arguments(node: FunctionCall | CalculationCall) -> str:
    options = (f"{option.name}={render(option.value)}" for option in node.options)
    return ", ".join([*map(render, node.arguments), *options])


def _inside(node: Expression, tightness: int) -> str:
    return render(node) if _tightness(node) >= tightness else f"({render(node)})"


def _tightness(node: Expression) -> int:
    match node:
        case Negate():
            return _UNARY
        case Chain():
            return _TIGHTNESS.get(node.steps[0].operator, _COMPARISON)
        case _:
            return _ATOM
