"""The variables of an operation, coerced by functions of their types where those will do."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import (
    GraphQLError,
    OperationDefinitionNode,
    Undefined,
    is_non_null_type,
)
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource, get_variable_values

from penstock.execution.coercion import Coerce, coercion
from penstock.execution.options import Options


class _Variable(NamedTuple):
    """A variable without a default: how it is coerced, and what stands for it if it is absent."""

    signature: GraphQLVariableSignature
    coerce: Coerce
    required: bool
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
        """Give the variables where none has a default, nor a type that asks for more."""
        found = []
        for node in self._nodes:
            signature = get_variable_signature(self._options.schema, node)
            if isinstance(signature, GraphQLError) or node.default_value is not None:
                return None
            coerce = coercion(signature.type)
            if coerce is None:
                return None
            required, absent = is_non_null_type(signature.type), VariableValueSource(signature)
            found.append(_Variable(signature, coerce, required, absent))
        return tuple(found)


def _quickly(variables: tuple[_Variable, ...], given: Mapping[str, Any]) -> VariableValues | None:
    """Coerce values; None where anything is in the way."""
    sources: dict[str, VariableValueSource] = {}
    values: dict[str, Any] = {}
    for signature, coerce, required, absent in variables:
        name = signature.name
        value = given.get(name, Undefined)
        if value is Undefined:
            if required:
                return None
            sources[name] = absent
            continue
        coerced = coerce(value)
        if coerced is Undefined:
            return None
        sources[name] = VariableValueSource(signature, value)
        values[name] = coerced
    return VariableValues(sources, values)
