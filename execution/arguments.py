"""The arguments of a field, computed once for an execution where sharing them is safe."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final

from graphql.execution.values import VariableValues, get_argument_values
from strawberry import UNSET
from strawberry.types.arguments import convert_arguments

from execution.fields import Field
from execution.planning import variables_in
from execution.reading import Direct

_IMMUTABLE: Final = (str, int, float, bool, bytes, type(None), Enum)


class Arguments:
    """The arguments of the fields of one execution."""

    __slots__ = ("_hide_suggestions", "_kept", "_variables")

    def __init__(self, variables: VariableValues, hide_suggestions: bool) -> None:
        self._variables = variables
        self._hide_suggestions = hide_suggestions
        self._kept: dict[Field, dict[str, Any]] = {}

    def of(self, field: Field, info: Any) -> Mapping[str, Any]:
        """Give what to call a field's resolver with; raises GraphQLError for what does not fit.

        What resolvers could change is made anew for each of them.
        """
        found = field.kept_arguments
        if found is None:
            found = self._kept.get(field)
        if found is not None:
            return found
        made = self._made(field, info)
        if _is_safe(made.values()):
            if variables_in(field.details[0].node):
                self._kept[field] = made
            else:
                field.kept_arguments = made
        return made

    def _made(self, field: Field, info: Any) -> dict[str, Any]:
        details, reading = field.details[0], field.reading
        values = get_argument_values(
            field.definition, details.node, self._variables, None, self._hide_suggestions
        )
        if not isinstance(reading, Direct):
            return values
        schema = reading.schema
        return convert_arguments(
            values,
            reading.field.arguments,
            schema.schema_converter.scalar_registry,
            schema.config,
            info,
        )


def has_arguments(field: Field) -> bool:
    return bool(field.definition.args)


def _is_safe(values: Iterable[object]) -> bool:
    return all(value is UNSET or isinstance(value, _IMMUTABLE) for value in values)
