"""The cost of fields, documents and variables, and the size of variables and of answers.

The unit is an object read from a store. Other work costs as many units as it takes the processor
time of one, which `python -m benchmarks.work_units` measures.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec
from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLSchema,
    GraphQLType,
    IntValueNode,
    ListValueNode,
    Node,
    NullValueNode,
    ObjectFieldNode,
    ObjectValueNode,
    OperationDefinitionNode,
    StringValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_leaf_type,
    type_from_ast,
)
from strawberry.types.field import StrawberryField

from penstock.schema.core.context import DEFAULT_PAGE_SIZE

DOCUMENT_COST: Final = 20
"""The cost of parsing and checking the shortest document that is not in the cache."""

DOCUMENT_CHARACTERS: Final = 3
"""Further characters of a document in one unit."""

BODY_BYTES: Final = 1_000
"""Bytes of JSON that are read in one unit."""

VARIABLE_VALUES: Final = 10
"""Values of variables, or of arguments of an object's field, that are coerced in one unit."""

TEXT_CHARACTERS: Final = 200
"""Characters of a text, as an argument of an object's field, that count as one value more."""

PLANNED_FIELD: Final = 5
"""Units of a field of a plan that is compiled."""

INTROSPECTION_VALUES: Final = 10
"""Values of the schema's description that are answered in one unit."""


ANSWER_VALUES: Final = 20
"""Values of an answer that are completed in one unit."""

ANSWER_BYTES: Final = 2_000
"""Bytes of an answer that are encoded and sent in one unit."""


def document_cost(characters: int) -> int:
    """Return the cost of parsing and checking a document of this length."""
    return DOCUMENT_COST + characters // DOCUMENT_CHARACTERS


def plan_cost(fields: int) -> int:
    """Return the cost of compiling a plan of so many fields."""
    return fields * PLANNED_FIELD


PAGE_ARGUMENTS: Final = ("first", "last")
_KEY: Final = "penstock.price"


class Price(NamedTuple):
    """The cost of one object of a field, and the arguments whose size multiplies it."""

    own: int
    sized_by: tuple[str, ...] = ()

    @property
    def is_connection(self) -> bool:
        return self.sized_by == PAGE_ARGUMENTS


FREE: Final = Price(0)


def price_metadata(own: int, sized_by: str | None = None) -> dict[object, Price]:
    """Declare a field's price, as the `metadata` of its `strawberry.field`.

    `sized_by` names a list argument; the field and everything below it count once for each of its
    values.
    """
    return {_KEY: Price(own, (sized_by,) if sized_by else ())}


def field_price(definition: GraphQLField | None) -> Price:
    """Look up the price that a field declares; without one, an object with a resolver costs 1."""
    if definition is None:
        return FREE
    field = definition.extensions.get("strawberry-definition")
    if not isinstance(field, StrawberryField):
        return FREE
    declared = field.metadata.get(_KEY)
    is_object = is_composite_type(get_named_type(definition.type))
    own = declared.own if declared else int(is_object and not field.is_basic_field)
    if any(name in definition.args for name in PAGE_ARGUMENTS):
        return Price(own, PAGE_ARGUMENTS)
    return declared or Price(own)


class SizeArguments:
    """Computes the number of objects that the arguments of a field request.

    `values` holds the variables of the operation, or the nodes of their defaults; None means that
    they are not known yet, so that each counts as `maximum`. `consulted` collects the names of the
    variables that decide a size, and `weighed` those that stand in lists or inputs of a field.
    """

    __slots__ = ("_weights", "consulted", "maximum", "values", "weighed")

    def __init__(self, values: dict[str, object] | None, maximum: int) -> None:
        self.values = values
        self.maximum = maximum
        self.consulted: set[str] = set()
        self.weighed: set[str] = set()
        self._weights: dict[str, int] = {}

    def size_of(self, price: Price, arguments: dict[str, ValueNode]) -> int:
        if not price.sized_by:
            return 1
        given = [self._argument_size(arguments.get(name)) for name in price.sized_by]
        sizes = [size for size in given if size is not None]
        if not sizes:
            return DEFAULT_PAGE_SIZE if price.is_connection else 1
        return min(max(*sizes, 1), self.maximum)

    def _argument_size(self, node: ValueNode | None) -> int | None:
        if isinstance(node, VariableNode):
            return self.variable_size(node.name.value)
        return literal_size(node) if node is not None else None

    def variable_size(self, name: str) -> int | None:
        """Return the size that a variable stands for; None if it is absent or null."""
        self.consulted.add(name)
        value = self.maximum if self.values is None else self.values.get(name)
        if isinstance(value, ValueNode):
            return literal_size(value)
        if isinstance(value, list):
            return len(value)
        if value is None:
            return None
        return value if type(value) is int else 1

    def coercion_units(
        self, definition: GraphQLField | None, arguments: Mapping[str, ValueNode]
    ) -> int:
        """Return the units of reading the arguments of a field, which each call repeats.

        They are those of lists, of inputs and of long texts; a short value by itself is free.
        """
        if definition is None or not arguments:
            return 0
        declared = definition.args
        weight = 0
        for name, node in arguments.items():
            if name in declared:
                is_leaf = is_leaf_type(get_nullable_type(declared[name].type))
                weight += max(self._argument_weight(node) - is_leaf, 0)
        return weight // VARIABLE_VALUES

    def _argument_weight(self, argument: ValueNode) -> int:
        """Weigh the values of an argument; a variable in it weighs what it stands for."""
        found = 0
        waiting: list[Node] = [argument]
        while waiting:
            node = waiting.pop()
            if isinstance(node, VariableNode):
                found += self.variable_weight(node.name.value)
            elif isinstance(node, StringValueNode):
                found += _text_weight(node.value)
            elif isinstance(node, ValueNode):
                found += 1
            if isinstance(node, ListValueNode | ObjectValueNode | ObjectFieldNode):
                waiting += _child_nodes(node)
        return found

    def variable_weight(self, name: str) -> int:
        """Weigh the values that a variable stands for; they weigh nothing while unknown."""
        self.weighed.add(name)
        if self.values is None or name not in self.values:
            return 0
        if name not in self._weights:
            value = self.values[name]
            self._weights[name] = (
                self._argument_weight(value)
                if isinstance(value, ValueNode)
                else _weigh_values(value)
            )
        return self._weights[name]


def _text_weight(text: str) -> int:
    return 1 + len(text) // TEXT_CHARACTERS


def _weigh_values(value: object) -> int:
    """Weigh a value with all its members: each counts once, and a long text more often."""
    weight, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        weight += _text_weight(one) if isinstance(one, str) else 1
        if isinstance(one, list | dict):
            waiting += one if isinstance(one, list) else one.values()
    return weight


def literal_size(node: ValueNode) -> int | None:
    """Return the size that a literal stands for; None for null."""
    if isinstance(node, NullValueNode):
        return None
    if isinstance(node, IntValueNode):
        return int(node.value[:10])
    return len(node.values) if isinstance(node, ListValueNode) else 1


_SINGLE_TYPES: Final = frozenset((str, int, float, bool, type(None)))

_TypedValue: TypeAlias = "tuple[object, GraphQLType | None]"


class ValueCounts(msgspec.Struct, frozen=True):
    """Numbers of values: those with a type of the schema, and those inside scalars."""

    values: int
    inside: int


class DeclaredVariable(NamedTuple):
    """A variable of an operation: its type, and the number of times that its value is read.

    A value that is not a list or an input counts as `single` values, as it may stand for a list of
    one.
    """

    name: str
    type: GraphQLType | None
    reads: int
    single: int


def operation_variables(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode
) -> tuple[DeclaredVariable, ...]:
    """Return the variables of an operation; each use of a variable reads its value again."""
    definitions = operation.variable_definitions
    if not definitions:
        return ()
    mentioned = _count_mentions(document, operation)
    found = []
    for one in definitions:
        name, kind = one.variable.name.value, type_from_ast(schema, one.type)
        found.append(DeclaredVariable(name, kind, max(1, mentioned[name]), _single_count(kind)))
    return tuple(found)


def _single_count(kind: GraphQLType | None) -> int:
    found = 1
    while isinstance(kind, GraphQLNonNull | GraphQLList):
        found += isinstance(kind, GraphQLList)
        kind = kind.of_type
    return found


def _count_mentions(document: DocumentNode, operation: OperationDefinitionNode) -> Counter[str]:
    """Count the uses of each variable in an operation; a fragment counts once."""
    fragments = {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    found: Counter[str] = Counter()
    waiting: list[Node] = [operation.selection_set]
    while waiting:
        node = waiting.pop()
        if isinstance(node, VariableNode):
            found[node.name.value] += 1
        elif isinstance(node, FragmentSpreadNode) and node.name.value in fragments:
            waiting.append(fragments.pop(node.name.value).selection_set)
        waiting += _child_nodes(node)
    return found


def count_values(
    declared: tuple[DeclaredVariable, ...], variables: Mapping[str, object], most: ValueCounts
) -> ValueCounts:
    """Count the values in the variables of an operation; beyond `most` the numbers are not exact.

    Lists and inputs are values too, and each is counted every time that its variable is read. The
    inside of a scalar is read only once.
    """
    values = inside = 0
    for name, kind, reads, single in declared:
        if name in variables:
            value = variables[name]
            if type(value) in _SINGLE_TYPES:
                values += single * reads
                continue
            found = _count_value(value, kind, most)
            values += found.values * reads
            inside += found.inside
        if values > most.values or inside > most.inside:
            break
    return ValueCounts(values, inside)


def _count_value(value: object, kind: GraphQLType | None, most: ValueCounts) -> ValueCounts:
    """Count one value with everything in it."""
    values, inside = 1, 0
    waiting: list[_TypedValue] = [(value, kind)]
    while waiting and values <= most.values and inside <= most.inside:
        value, kind = waiting.pop()
        held = _members(value, kind, most.values)
        if held is None:
            inside += _count_members(value, most.inside)
        else:
            values += len(held)
            waiting += held
    return ValueCounts(values, inside)


def _members(value: object, kind: GraphQLType | None, most: int) -> list[_TypedValue] | None:
    """Return the members of a list or an input with their types; None for anything else."""
    if isinstance(kind, GraphQLNonNull):
        kind = kind.of_type
    if isinstance(kind, GraphQLList):
        # A single value stands for a list of one.
        values = value[: most + 1] if isinstance(value, list) else [value]
        return [(one, kind.of_type) for one in values]
    if not isinstance(kind, GraphQLInputObjectType) or not isinstance(value, dict):
        return None
    fields = kind.fields
    return [(one, fields[name].type if name in fields else None) for name, one in value.items()]


def _count_members(value: object, most: float) -> int:
    """Count the members of lists and objects, up to `most`."""
    counted, waiting = 0, [value]
    while waiting and counted <= most:
        one = waiting.pop()
        held = one if isinstance(one, list) else one.values() if isinstance(one, dict) else ()
        counted += len(held)
        waiting += held
    return counted


def _child_nodes(node: Node) -> list[Node]:
    values = (getattr(node, key) for key in node.keys)
    found: list[Node] = []
    for value in values:
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [one for one in value if isinstance(one, Node)]
    return found
