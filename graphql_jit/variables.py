"""Coerces the variables of an operation, as graphql-core does.

Each input type has one function, built once. graphql-core itself coerces variables with defaults,
types that contain themselves, and values that do not fit, for which it reports the errors.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from graphql import (
    GraphQLError,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    OperationDefinitionNode,
    Undefined,
    is_non_null_type,
    is_required_input_field,
)
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource, get_variable_values
from graphql.pyutils import is_iterable
from graphql.utilities.coerce_input_value import coerce_default_value

from penstock.graphql_jit.plan import ExecutionOptions

CoerceInput: TypeAlias = Callable[[Any], Any]
"""Returns Undefined for a value that does not fit or might not; it never raises."""


def input_coercion(
    type_: GraphQLInputType, around: tuple[GraphQLInputType, ...] = ()
) -> CoerceInput | None:
    """Return the function that coerces JSON values; None for types that contain themselves.

    Values of those types may be nested without limit, which graphql-core checks.
    """
    if isinstance(type_, GraphQLNonNull):
        inner = input_coercion(type_.of_type, around)
        return None if inner is None else _not_null_coercion(inner)
    if isinstance(type_, GraphQLList):
        inner = input_coercion(type_.of_type, around)
        return None if inner is None else _list_coercion(inner)
    if isinstance(type_, GraphQLInputObjectType):
        return None if type_ in around else _object_coercion(type_, (*around, type_))
    return _leaf_coercion(type_.coerce_input_value)


def _not_null_coercion(inner: CoerceInput) -> CoerceInput:
    def coerce(value: Any) -> Any:
        return Undefined if value is None else inner(value)

    return coerce


def _list_coercion(inner: CoerceInput) -> CoerceInput:
    def coerce(value: Any) -> Any:
        if value is None:
            return None
        if is_iterable(value) and not isinstance(value, list):
            return Undefined
        # One value stands for a list of one.
        found = [inner(one) for one in (value if isinstance(value, list) else (value,))]
        return Undefined if Undefined in found else found

    return coerce


def _leaf_coercion(parse: CoerceInput) -> CoerceInput:
    def coerce(value: Any) -> Any:
        if value is None:
            return None
        try:
            return parse(value)
        except Exception:
            # A parser of a custom scalar may raise any exception.
            return Undefined

    return coerce


def _object_coercion(
    type_: GraphQLInputObjectType, around: tuple[GraphQLInputType, ...]
) -> CoerceInput | None:
    if type_.is_one_of:
        return None
    fields = []
    for name, field in type_.fields.items():
        inner = input_coercion(field.type, around)
        if inner is None:
            return None
        fields.append((name, field.out_name or name, field, inner))
    return _fields_coercion(type_, fields)


def _fields_coercion(
    type_: GraphQLInputObjectType, fields: list[tuple[str, str, GraphQLInputField, CoerceInput]]
) -> CoerceInput:
    names, out_type = type_.fields.keys(), type_.out_type

    def coerce(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict) or not value.keys() <= names:
            return Undefined
        made = {}
        for name, known_as, field, inner in fields:
            if name in value:
                one = inner(value[name])
            elif is_required_input_field(field):
                return Undefined
            elif (one := coerce_default_value(field)) is Undefined:
                continue
            made[known_as] = one
        return Undefined if Undefined in made.values() else out_type(made)

    return coerce


class _Variable(NamedTuple):
    """A variable without a default: its coercion, and the source that stands for its absence."""

    signature: GraphQLVariableSignature
    coerce: CoerceInput
    required: bool
    absent: VariableValueSource


class OperationVariables:
    """The variables that an operation declares."""

    __slots__ = ("_nodes", "_options", "_quick")

    def __init__(self, options: ExecutionOptions, operation: OperationDefinitionNode) -> None:
        self._options = options
        self._nodes = operation.variable_definitions or ()
        self._quick = self._simple_variables()

    def coerce(self, given: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Coerce the variables of a request; returns the errors where a value does not fit."""
        quick = None if self._quick is None else _coerce_quickly(self._quick, given)
        if quick is not None:
            return quick
        return get_variable_values(
            self._options.schema,
            self._nodes,
            dict(given),
            max_errors=self._options.max_coercion_errors,
            hide_suggestions=self._options.hide_suggestions,
        )

    def _simple_variables(self) -> tuple[_Variable, ...] | None:
        """Return the variables; None if one has a default or a type that needs graphql-core."""
        found = []
        for node in self._nodes:
            signature = get_variable_signature(self._options.schema, node)
            if isinstance(signature, GraphQLError) or node.default_value is not None:
                return None
            coerce = input_coercion(signature.type)
            if coerce is None:
                return None
            required, absent = is_non_null_type(signature.type), VariableValueSource(signature)
            found.append(_Variable(signature, coerce, required, absent))
        return tuple(found)


def _coerce_quickly(
    variables: tuple[_Variable, ...], given: Mapping[str, Any]
) -> VariableValues | None:
    """Coerce values; None where graphql-core has to coerce or to report errors."""
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
