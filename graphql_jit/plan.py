"""The parts of a plan: fields and the selections of one object type, and the executor's options.

A place is a position in the answer.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from math import inf
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from graphql import (
    ExecutionResult,
    Executor,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLField,
    GraphQLFieldResolver,
    GraphQLLeafType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    GraphQLTypeResolver,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    Undefined,
    VariableNode,
    is_list_type,
    is_non_null_type,
)
from graphql.execution import default_field_resolver, default_type_resolver
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from graphql.pyutils import Path, is_awaitable
from graphql.type.directives import GraphQLDisableErrorPropagationDirective

from penstock.graphql_jit.field_source import FieldSource
from penstock.graphql_jit.leaves import CoerceLeaf

Place: TypeAlias = tuple[Any, str | int, str | None] | None
"""A position in an answer: a `Path` of graphql-core, or a tuple that equals one."""

CompleteLevel: TypeAlias = Callable[[list[Any], list[Any], Any], None]

LeafBytes: TypeAlias = Callable[[GraphQLField], float]
"""Maps a field of a leaf type to the most bytes of its values as JSON; infinite if unknown."""

ListFunctions: TypeAlias = Callable[["Field", int], Callable[[Any], Any] | None]
"""Maps a field and a depth to the function that completes its lists as a whole, or to None."""

MAX_NESTING: Final = 6
"""The deepest nesting of objects in one block of code; Python nests at most 20 loops."""

CallArguments: TypeAlias = dict[str, Any]
IMMUTABLE: Final = (str, int, float, bool, bytes, type(None), Enum)


class PassedVariable(NamedTuple):
    """An argument whose value is a variable of a leaf type; `name` is the resolver's parameter."""

    name: str
    variable: str
    not_nullable: bool


class ArgumentRecipe(NamedTuple):
    """The arguments of a field that consist of constants and variables only."""

    constants: CallArguments
    variable_arguments: tuple[PassedVariable, ...]

    def build_arguments(self, variables: Mapping[str, Any]) -> CallArguments | None:
        """Return the arguments, or None where a variable is absent, null or not immutable."""
        found = self.constants.copy()
        for name, variable, not_null in self.variable_arguments:
            value = variables.get(variable, Undefined)
            if value is Undefined or (value is None and not_null):
                return None
            if not isinstance(value, IMMUTABLE):
                return None
            found[name] = value
        return found


@dataclass(eq=False, slots=True)
class Field:
    """A planned field: its key in the answer, the source of its value and its types.

    `types` holds the field's type without non-null, then that of its items, and so on; `nullable`
    says for each whether null is allowed. `parent_field` is the field that returns the object.
    `recipe` builds its arguments, once it is known; `parameters` are the arguments that generated
    code passes by keyword. `read_attributes` caches, by type name, the attributes that are read of
    objects below. `leaf_bytes` are the most bytes of a value of a leaf type.
    """

    key: str
    definition: GraphQLField
    details: FieldDetailsList
    parent: GraphQLObjectType
    parent_field: "Field | None"
    source: FieldSource
    types: tuple[GraphQLOutputType, ...]
    nullable: tuple[bool, ...]
    selections: dict[str, "Selection"] = field(default_factory=dict)
    complete_level: CompleteLevel | None = None
    recipe: ArgumentRecipe | None = None
    parameters: frozenset[str] = frozenset()
    read_attributes: dict[str, frozenset[str] | None] = field(default_factory=dict)
    leaf_bytes: float = inf

    @property
    def is_repeated(self) -> bool:
        """Whether the objects that have the field come in lists."""
        parent = self.parent_field
        return parent is not None and (len(parent.types) > 1 or parent.is_repeated)

    @property
    def name(self) -> str:
        return self.details[0].node.name.value

    @property
    def nodes(self) -> list[FieldNode]:
        return [detail.node for detail in self.details]

    @property
    def named_type(self) -> GraphQLNamedType:
        """The type without lists and non-null: a leaf, an object or an abstract type."""
        return self.types[-1]  # type: ignore[return-value]

    def null_error(self) -> TypeError:
        """Return the error of a null that is not allowed, in graphql-core's words."""
        return TypeError(
            f"Cannot return null for non-nullable field {self.parent.name}.{self.name}."
        )

    def item_type(self, depth: int) -> GraphQLOutputType:
        """Return the declared type of the values that lie `depth` lists deep."""
        kind = self.definition.type
        for _ in range(depth):
            kind = (kind.of_type if is_non_null_type(kind) else kind).of_type  # type: ignore[union-attr]
        return kind


@dataclass(eq=False, slots=True)
class Selection:
    """The fields that an operation selects of the objects of one type at one place."""

    type: GraphQLObjectType
    grouped: GroupedFieldSet
    fields: tuple[Field, ...]


def type_layers(kind: GraphQLOutputType) -> tuple[tuple[GraphQLOutputType, ...], tuple[bool, ...]]:
    """Return the types of a field, of its items and so on, and for each whether it may be null."""
    types: list[GraphQLOutputType] = []
    nullable: list[bool] = []
    while True:
        nullable.append(not is_non_null_type(kind))
        kind = kind.of_type if is_non_null_type(kind) else kind
        types.append(kind)
        if not is_list_type(kind):
            return tuple(types), tuple(nullable)
        kind = kind.of_type


def real_path(place: Place) -> Path | None:
    """Return a place as graphql-core's own `Path`."""
    path: Path | None = None
    for key, typename in reversed(list(_walk_up(place))):
        path = Path(path, key, typename)
    return path


def keys_of(place: Place) -> list[str | int]:
    """Return the keys of a place, from the root downwards."""
    return [key for key, _ in _walk_up(place)][::-1]


def _walk_up(place: Place) -> Iterator[tuple[str | int, str | None]]:
    while place is not None:
        above, key, typename = place
        yield key, typename
        place = above


ExecutionOutcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]


def know_no_bytes(_definition: GraphQLField) -> float:
    return inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOptions:
    """The schema, and the options that `graphql.execute` takes.

    `max_fields` limits the fields of a plan, which has a copy of an abstract type's selection for
    each possible type. `max_plans` limits the plans of one operation; there is one for each set of
    values of the variables in `@skip` and `@include`. An operation is compiled after
    `interpreted_runs` runs. `lists` may complete lists of plain objects as a whole. `leaf_bytes`
    are known of a field of a leaf type. `coercions` are cached by type.
    """

    schema: GraphQLSchema
    field_resolver: GraphQLFieldResolver = default_field_resolver
    type_resolver: GraphQLTypeResolver = default_type_resolver
    is_awaitable: Callable[[Any], TypeGuard[Awaitable[Any]]] = is_awaitable
    is_async_iterable: Callable[[Any], TypeGuard[AsyncIterable[Any]]] | None = None
    executor_class: type[Executor[Any]] | None = None
    max_coercion_errors: int = 50
    hide_suggestions: bool = False
    max_fields: int = 1_000
    max_plans: int = 8
    interpreted_runs: int = 0
    lists: ListFunctions | None = None
    leaf_bytes: LeafBytes = know_no_bytes
    coercions: dict[GraphQLLeafType, CoerceLeaf] = field(default_factory=dict, compare=False)


def note_nothing() -> None:
    """Note nothing of plans that grow."""


@dataclass(slots=True)
class PlanRoom:
    """The fields that the plans of one document may still have, together, and those they have.

    `note` is called when there are more of the latter.
    """

    fields: int
    taken: int = 0
    note: Callable[[], None] = note_nothing

    def take(self, fields: int) -> None:
        """Take the fields of a plan that is made."""
        self.fields -= fields
        self.taken += fields
        self.note()

    def close(self) -> None:
        """Leave no room for further plans; those that were made are dropped."""
        self.fields = self.taken = 0


class FallbackReason(StrEnum):
    """The reasons why graphql-core runs an operation, listed in docs/compiled-execution.md."""

    TOO_MANY_CONDITIONS = "conditions"
    DEFER = "defer"
    TOO_DEEP = "depth"
    INVALID_DIRECTIVE = "error"
    ERROR_PROPAGATION = "error_propagation"
    FIRST_RUN = "first_run"
    FRAGMENT_VARIABLES = "fragment_variables"
    INTROSPECTION = "introspection"
    NO_ROOT_TYPE = "no_root_type"
    ODD_VALUE = "odd_value"
    SIZE = "size"
    STREAM = "stream"
    UNPAID = "unpaid"


_CONDITIONS: Final = frozenset(("skip", "include"))
_INCREMENTAL: Final = {"defer": FallbackReason.DEFER, "stream": FallbackReason.STREAM}


class Unplannable(Exception):
    """An operation cannot be compiled."""

    def __init__(self, reason: FallbackReason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """An operation with the fragments of its document, without variables."""

    operation: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]

    def condition_variables(self) -> tuple[str, ...]:
        """Return the variables that decide which fields are selected.

        Raises Unplannable for directives that plans do not support.
        """
        if any(
            directive.name.value == GraphQLDisableErrorPropagationDirective.name
            for directive in self.operation.directives or ()
        ):
            raise Unplannable(FallbackReason.ERROR_PROPAGATION)
        if any(fragment.variable_definitions for fragment in self.fragments.values()):
            raise Unplannable(FallbackReason.FRAGMENT_VARIABLES)
        names: dict[str, None] = {}
        for node in self._selections():
            for name in _condition_variables(node):
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


def _condition_variables(node: SelectionNode) -> Iterator[str]:
    for directive in node.directives or ():
        if directive.name.value in _INCREMENTAL:
            raise Unplannable(_INCREMENTAL[directive.name.value])
        if directive.name.value not in _CONDITIONS:
            continue
        for argument in directive.arguments or ():
            if isinstance(argument.value, VariableNode):
                yield argument.value.name.value
