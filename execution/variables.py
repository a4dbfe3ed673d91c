"""The variables of an operation, coerced at once where each of them is a leaf value."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import (
    GraphQLError,
    GraphQLInputType,
    OperationDefinitionNode,
    Undefined,
    get_nullable_type,
    is_leaf_type,
)
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource, get_variable_values
from graphql.utilities import coerce_input_value

from execution.options import Options


class _Variable(NamedTuple):
    """A variable of a leaf type, and what stands for it where it is not given."""

    signature: GraphQLVariableSignature
    type: GraphQLInputType
    absent: VariableValueSource


class Variables:
    """The variables that an operation declares."""

    __slots__ = ("_nodes", "_options", "_quick")

    def __init__(self, options: Options, operation: OperationDefinitionNode) -> None:
        self._options = options
        self._nodes = operation.variable_definitions or ()
        self._quick = self._simple()

    def coerced(self, given: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Coerce what a request gives, as graphql-core does, or give the errors."""
        quick = None if self._quick is None else _quickly(self._quick, given)
        if quick is not None:
            return quick
        return get_variable_values(
            self._options.schema,
            self._nodes,
            dict(given),
            max_errors=self._options.max_coercion_errors,
            hide_suggestions=self._options.hide_suggestions,
        )

    def _simple(self) -> tuple[_Variable, ...] | None:
        """Give the variables where all are leaf values without a default."""
        found = []
        for node in self._nodes:
            signature = get_variable_signature(self._options.schema, node)
            if isinstance(signature, GraphQLError) or node.default_value is not None:
                return None
            if not is_leaf_type(get_nullable_type(signature.type)):
                return None
            absent = VariableValueSource(signature)
            found.append(_Variable(signature, signature.type, absent))
        return tuple(found)


def _quickly(variables: tuple[_Variable, ...], given: Mapping[str, Any]) -> VariableValues | None:
    """Coerce leaf values; None where anything is in the way."""
    sources: dict[str, VariableValueSource] = {}
    values: dict[str, Any] = {}
    for signature, kind, absent in variables:
        name = signature.name
        value = given.get(name, Undefined)
        if value is Undefined:
            if get_nullable_type(kind) is not kind:
                return None
            sources[name] = absent
            continue
        coerced = coerce_input_value(value, kind)
        if coerced is Undefined:
            return None
        sources[name] = VariableValueSource(signature, value)
        values[name] = coerced
    return VariableValues(sources, values)
