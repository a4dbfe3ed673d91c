"""Rows across the GraphQL boundary: flat, and every number as it was sent."""

from decimal import Decimal
from typing import Any, Final

from graphql import (
    BooleanValueNode,
    FloatValueNode,
    GraphQLError,
    IntValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
    ValueNode,
    VariableNode,
)

MAX_NUMBER: Final = 1_200
"""Characters of a number in the document; formulas take a thousand digits."""


def row_input(value: object) -> dict[str, object]:
    """Read what a variable holds; a float stays one, for formulas to say whether it is exact."""
    if not isinstance(value, dict):
        raise _not_a_row()
    if not all(isinstance(key, str) and _is_flat(entry) for key, entry in value.items()):
        raise _not_a_row()
    return dict(value)


def row_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> dict[str, object]:
    """Read a literal of a document; a variable without a value leaves its entry out."""
    if not isinstance(node, ObjectValueNode):
        raise _not_a_row(node)
    given = variables or {}
    return {
        field.name.value: _entry(field.value, given)
        for field in node.fields
        if not isinstance(field.value, VariableNode) or field.value.name.value in given
    }


def _entry(node: ValueNode, variables: dict[str, Any]) -> object:
    match node:
        case VariableNode():
            value = variables[node.name.value]
            if _is_flat(value):
                return value
        case NullValueNode():
            return None
        case BooleanValueNode() | StringValueNode():
            return node.value
        case IntValueNode() | FloatValueNode() if len(node.value) <= MAX_NUMBER:
            return Decimal(node.value)
    raise _not_a_row(node)


def _is_flat(value: object) -> bool:
    return value is None or isinstance(value, bool | str | int | float | Decimal)


def _not_a_row(node: ValueNode | None = None) -> GraphQLError:
    return GraphQLError("A Row is an object of texts, numbers, booleans and null.", node)
