"""Plans a validated operation: every field once, in the order of the answer.

An operation that cannot be planned has a `Reason`, and graphql-core executes it.
"""

from typing import Any

from graphql import (
    GraphQLObjectType,
    SchemaMetaFieldDef,
    TypeMetaFieldDef,
    ValueNode,
    VariableNode,
    is_abstract_type,
    is_leaf_type,
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

from penstock.graphql_jit.field_source import field_source_of
from penstock.graphql_jit.plan import (
    ExecutionOptions,
    FallbackReason,
    Field,
    OperationInfo,
    PlanRoom,
    Selection,
    Unplannable,
    type_layers,
)


class Planner:
    """Plans one operation for given values of the variables in its conditions."""

    def __init__(
        self,
        options: ExecutionOptions,
        operation: OperationInfo,
        variables: VariableValues,
        room: PlanRoom | None = None,
    ) -> None:
        self._schema = options.schema
        self._operation = operation
        self._variables = variables
        self._default = options.field_resolver
        self._leaf_bytes = options.leaf_bytes
        self._room = room
        self._most = options.max_fields if room is None else min(options.max_fields, room.fields)
        self._fields_left = self._most
        self._fragments = {
            name: FragmentDetails(fragment) for name, fragment in operation.fragments.items()
        }

    def plan_root(self) -> Selection:
        """Plan the whole operation, and take its fields from the room of its document.

        Raises Unplannable where plans do not support it, or there is no room.
        """
        operation = self._operation.operation
        kind = self._schema.get_root_type(operation.operation)
        if kind is None:
            raise Unplannable(FallbackReason.NO_ROOT_TYPE)
        collected = collect_fields(self._schema, self._fragments, self._variables, kind, operation)
        root = self._plan_selection(kind, collected, None)
        if self._room is not None:
            self._room.take(self._most - self._fields_left)
        return root

    def _plan_selection(
        self, kind: GraphQLObjectType, collected: CollectedFields, parent_field: Field | None
    ) -> Selection:
        fields = []
        for key, details in collected.grouped_field_set.items():
            planned = self._plan_field(kind, key, details, parent_field)
            if planned is not None:
                fields.append(planned)
        return Selection(kind, collected.grouped_field_set, tuple(fields))

    def _plan_field(
        self,
        kind: GraphQLObjectType,
        key: str,
        details: FieldDetailsList,
        parent_field: Field | None,
    ) -> Field | None:
        self._fields_left -= 1
        if self._fields_left < 0:
            raise Unplannable(FallbackReason.SIZE)
        name = details[0].node.name.value
        definition = self._schema.get_field(kind, name)
        if definition is None:
            return None
        if definition is SchemaMetaFieldDef or definition is TypeMetaFieldDef:
            raise Unplannable(FallbackReason.INTROSPECTION)
        reading = field_source_of(definition, name, kind, self._schema, self._default)
        types, nullable = type_layers(definition.type)
        field = Field(key, definition, details, kind, parent_field, reading, types, nullable)
        if is_leaf_type(field.named_type):
            field.leaf_bytes = self._leaf_bytes(definition)
        for possible in self._possible_types(field):
            field.selections[possible.name] = self._plan_subfields(field, possible)
        return field

    def _possible_types(self, field: Field) -> tuple[GraphQLObjectType, ...]:
        named: Any = field.named_type
        if is_object_type(named):
            return (named,)
        if is_abstract_type(named):
            return tuple(self._schema.get_possible_types(named))
        return ()

    def _plan_subfields(self, field: Field, kind: GraphQLObjectType) -> Selection:
        collected = collect_subfields(
            self._schema,
            self._fragments,
            self._variables,
            self._operation.operation,
            kind,
            field.details,
        )
        return self._plan_selection(kind, collected, field)


def has_variables(node: ValueNode) -> bool:
    """Return whether a value contains variables."""
    values: list[Any] = [node]
    while values:
        value = values.pop()
        if isinstance(value, VariableNode):
            return True
        values += getattr(value, "values", None) or ()
        values += [entry.value for entry in getattr(value, "fields", None) or ()]
    return False
