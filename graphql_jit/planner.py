"""Plans a validated operation: every field once, in the order of the answer.

An operation that cannot be planned has a `Reason`, and graphql-core executes it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from graphql import (
    FragmentDefinitionNode,
    GraphQLFieldResolver,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SchemaMetaFieldDef,
    SelectionNode,
    SelectionSetNode,
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
from graphql.type.directives import GraphQLDisableErrorPropagationDirective

from penstock.graphql_jit.field_source import reading_of
from penstock.graphql_jit.plan import Field, Selection, unwrapped


class Reason(StrEnum):
    """The reasons why graphql-core runs an operation, listed in docs/compiled-execution.md."""

    CONDITIONS = "conditions"
    DEFER = "defer"
    DEPTH = "depth"
    ERROR = "error"
    ERROR_PROPAGATION = "error_propagation"
    FIRST_RUN = "first_run"
    FRAGMENT_VARIABLES = "fragment_variables"
    INTROSPECTION = "introspection"
    NO_ROOT_TYPE = "no_root_type"
    ODD_VALUE = "odd_value"
    SIZE = "size"
    STREAM = "stream"


_CONDITIONS: Final = frozenset(("skip", "include"))
_INCREMENTAL: Final = {"defer": Reason.DEFER, "stream": Reason.STREAM}


class Unplannable(Exception):
    """An operation cannot be compiled."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Asked:
    """An operation with the fragments of its document, without variables."""

    operation: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]

    def conditions(self) -> tuple[str, ...]:
        """Return the variables that decide which fields are selected.

        Raises Unplannable for directives that plans do not support.
        """
        if any(
            directive.name.value == GraphQLDisableErrorPropagationDirective.name
            for directive in self.operation.directives or ()
        ):
            raise Unplannable(Reason.ERROR_PROPAGATION)
        if any(fragment.variable_definitions for fragment in self.fragments.values()):
            raise Unplannable(Reason.FRAGMENT_VARIABLES)
        names: dict[str, None] = {}
        for node in self._selections():
            for name in _conditions_of(node):
                names[name] = None
        return tuple(names)

    def _selections(self) -> Iterator[SelectionNode]:
        """Yield every selection of the operation and of all fragments."""
        sets: list[SelectionSetNode] = [self.operation.selection_set]
        sets += [fragment.selection_set for fragment in self.fragments.values()]
        while sets:
            for node in sets.pop().selections:
                yield node
                below: SelectionSetNode | None = getattr(node, "selection_set", None)
                if below is not None:
                    sets.append(below)


def _conditions_of(node: SelectionNode) -> Iterator[str]:
    for directive in node.directives or ():
        if directive.name.value in _INCREMENTAL:
            raise Unplannable(_INCREMENTAL[directive.name.value])
        if directive.name.value not in _CONDITIONS:
            continue
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                yield argument.value.name.value


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
