"""What a plan is made of: selections of one object type each, and their fields.

How one schema's operations are run, whatever they are.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
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

from penstock.graphql_jit.field_source import Reading
from penstock.graphql_jit.leaves import Coerce

Place: TypeAlias = tuple[Any, str | int, str | None] | None
"""A position in an answer: a `Path` of graphql-core, or a tuple that equals one."""

Level: TypeAlias = Callable[[list[Any], list[Any], Any], None]

Lists: TypeAlias = Callable[["Field", int], Callable[[Any], Any] | None]
"""For the lists of a field at a depth, gives what may answer one as a whole, or None."""

MOST_NESTED: Final = 6
"""How deep objects are read within one block of code; Python nests no more than 20 loops."""

Made: TypeAlias = dict[str, Any]
IMMUTABLE: Final = (str, int, float, bool, bytes, type(None), Enum)


class PassedVariable(NamedTuple):
    """An argument that is a variable of a leaf type, by the name its resolver knows it by."""

    name: str
    variable: str
    not_null: bool


class Recipe(NamedTuple):
    """What the arguments of a field are made of, if that is simple: constants and variables."""

    constants: Made
    passed: tuple[PassedVariable, ...]

    def followed(self, variables: Mapping[str, Any]) -> Made | None:
        """Give the arguments; None where a variable is absent or null."""
        found = self.constants.copy()
        for name, variable, not_null in self.passed:
            value = variables.get(variable, Undefined)
            if value is Undefined or (value is None and not_null):
                return None
            if not isinstance(value, IMMUTABLE):
                return None
            found[name] = value
        return found


@dataclass(eq=False, slots=True)
class Field:
    """One answered key of an object: where its value comes from, and how it is completed.

    `types` holds the field's type without non-null, then that of its items, and so on; `nullable`
    says of each whether it may be null. `above` is the field that gives the object. `recipe` is
    how its arguments are made, once that is known, and `parameters` are the names that code passes
    them by which is for no others. `asked` remembers what is asked of objects of some types below.
    """

    key: str
    definition: GraphQLField
    details: FieldDetailsList
    parent: GraphQLObjectType
    above: "Field | None"
    reading: Reading
    types: tuple[GraphQLOutputType, ...]
    nullable: tuple[bool, ...]
    selections: dict[str, "Selection"] = field(default_factory=dict)
    level: Level | None = None
    recipe: Recipe | None = None
    parameters: frozenset[str] = frozenset()
    asked: dict[str, frozenset[str] | None] = field(default_factory=dict)

    @property
    def is_repeated(self) -> bool:
        """Whether the objects that have the field come in lists."""
        above = self.above
        return above is not None and (len(above.types) > 1 or above.is_repeated)

    @property
    def name(self) -> str:
        return self.details[0].node.name.value

    @property
    def nodes(self) -> list[FieldNode]:
        return [detail.node for detail in self.details]

    @property
    def named(self) -> GraphQLNamedType:
        """The type at the bottom: a leaf's, an object's or an abstract one."""
        return self.types[-1]  # type: ignore[return-value]

    def null_error(self) -> TypeError:
        """Make the error of a null that may not be, in graphql-core's words."""
        return TypeError(
            f"Cannot return null for non-nullable field {self.parent.name}.{self.name}."
        )

    def item_type(self, depth: int) -> GraphQLOutputType:
        """Give the declared type of what lies `depth` lists deep."""
        kind = self.definition.type
        for _ in range(depth):
            kind = (kind.of_type if is_non_null_type(kind) else kind).of_type  # type: ignore[union-attr]
        return kind


@dataclass(eq=False, slots=True)
class Selection:
    """The fields asked of the objects of one type at one place."""

    type: GraphQLObjectType
    grouped: GroupedFieldSet
    fields: tuple[Field, ...]
    above: Field | None


def unwrapped(kind: GraphQLOutputType) -> tuple[tuple[GraphQLOutputType, ...], tuple[bool, ...]]:
    """Give the types of a field and of its items, inwards, and whether each may be null."""
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
    """Make graphql-core's own path of a position."""
    path: Path | None = None
    for key, typename in reversed(list(_steps(place))):
        path = Path(path, key, typename)
    return path


def keys_of(place: Place) -> list[str | int]:
    """Give the keys of a position from the root on."""
    return [key for key, _ in _steps(place)][::-1]


def _steps(place: Place) -> Iterator[tuple[str | int, str | None]]:
    while place is not None:
        above, key, typename = place
        yield key, typename
        place = above


Outcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The schema and what `graphql.execute` takes beside it.

    `most_fields` bounds a plan, whose selections on abstract types are written out for each
    possible type; `most_plans` bounds the plans of one operation, of which there is one for each
    set of values of the variables in `@skip` and `@include`. An operation is compiled when it has
    run `interpreted_runs` times. `lists` may put what only it knows in place of lists of plain
    objects, for those who know it too. `coercions` are remembered by type.
    """

    schema: GraphQLSchema
    field_resolver: GraphQLFieldResolver = default_field_resolver
    type_resolver: GraphQLTypeResolver = default_type_resolver
    is_awaitable: Callable[[Any], TypeGuard[Awaitable[Any]]] = is_awaitable
    is_async_iterable: Callable[[Any], TypeGuard[AsyncIterable[Any]]] | None = None
    executor_class: type[Executor[Any]] | None = None
    max_coercion_errors: int = 50
    hide_suggestions: bool = False
    most_fields: int = 1_000
    most_plans: int = 8
    interpreted_runs: int = 0
    lists: Lists | None = None
    coercions: dict[GraphQLLeafType, Coerce] = field(default_factory=dict, compare=False)


class Reason(StrEnum):
    """Each is told of by a row of docs/compiled-execution.md."""

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
    """An operation with the fragments of its document, apart from any variables."""

    operation: OperationDefinitionNode
    fragments: Mapping[str, FragmentDefinitionNode]

    def conditions(self) -> tuple[str, ...]:
        """Give the variables that decide which fields there are; Unplannable for odd directives."""
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
