"""Why an operation, or a part of it, is not run compiled.

From a validated operation and its schema to a plan: every field once, in the answer's order.
"""

from typing import Any

from graphql import (
    GraphQLFieldResolver,
    GraphQLObjectType,
    GraphQLSchema,
    SchemaMetaFieldDef,
    TypeMetaFieldDef,
    ValueNode,
    VariableNode,
    is_abstract_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    CollectedFields,
    FieldDetailsList,
    FragmentDetails,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues

from penstock.graphql_jit.field_source import reading_of
from penstock.graphql_jit.plan import Asked, Field, Reason, Selection, Unplannable, unwrapped


class Planner:
    """Plans one operation for given values of the variables in its conditions."""

    def __init__(
        self,
        schema: GraphQLSchema,
        asked: Asked,
        variables: VariableValues,
        default: GraphQLFieldResolver,
        most_fields: int,
    ) -> None:
        self._schema = schema
        self._asked = asked
        self._variables = variables
        self._default = default
        self._left = most_fields
        self._fragments = {
            name: FragmentDetails(fragment) for name, fragment in asked.fragments.items()
        }

    def root(self) -> Selection:
        """Plan the whole operation; raises Unplannable where plans do not support it."""
        operation = self._asked.operation
        kind = self._schema.get_root_type(operation.operation)
        if kind is None:
            raise Unplannable(Reason.NO_ROOT_TYPE)
        collected = collect_fields(self._schema, self._fragments, self._variables, kind, operation)
        return self._selection(kind, collected, None)

    def _selection(
        self, kind: GraphQLObjectType, collected: CollectedFields, above: Field | None
    ) -> Selection:
        fields = []
        for key, details in collected.grouped_field_set.items():
            planned = self._field(kind, key, details, above)
            if planned is not None:
                fields.append(planned)
        return Selection(kind, collected.grouped_field_set, tuple(fields), above)

    def _field(
        self, kind: GraphQLObjectType, key: str, details: FieldDetailsList, above: Field | None
    ) -> Field | None:
        self._left -= 1
        if self._left < 0:
            raise Unplannable(Reason.SIZE)
        name = details[0].node.name.value
        definition = self._schema.get_field(kind, name)
        if definition is None:
            return None
        if definition is SchemaMetaFieldDef or definition is TypeMetaFieldDef:
            raise Unplannable(Reason.INTROSPECTION)
        reading = reading_of(definition, name, kind, self._schema, self._default)
        types, nullable = unwrapped(definition.type)
        field = Field(key, definition, details, kind, above, reading, types, nullable)
        for possible in self._possible(field):
            field.selections[possible.name] = self._below(field, possible)
        return field

    def _possible(self, field: Field) -> tuple[GraphQLObjectType, ...]:
        named: Any = field.named
        if is_object_type(named):
            return (named,)
        if is_abstract_type(named):
            return tuple(self._schema.get_possible_types(named))
        return ()

    def _below(self, field: Field, kind: GraphQLObjectType) -> Selection:
        collected = collect_subfields(
            self._schema,
            self._fragments,
            self._variables,
            self._asked.operation,
            kind,
            field.details,
        )
        return self._selection(kind, collected, field)


def variables_in(node: ValueNode) -> bool:
    """Return whether a value contains variables."""
    values: list[Any] = [node]
    while values:
        value = values.pop()
        if isinstance(value, VariableNode):
            return True
        values += getattr(value, "values", None) or ()
        values += [entry.value for entry in getattr(value, "fields", None) or ()]
    return False
