"""One walk over a document that measures its depth, fields and cost, each fragment once.

The size of the schema's own description is estimated for introspection.
"""

from collections.abc import Iterable, Mapping, Sized
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLArgument,
    GraphQLCompositeType,
    GraphQLField,
    GraphQLInputField,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    get_named_type,
    is_abstract_type,
    is_composite_type,
    is_enum_type,
    is_input_object_type,
    is_interface_type,
    is_object_type,
    is_wrapping_type,
)

from penstock.schema.engine.cost import Sizes, price_of

NAMED = ""
"""Stands for any type as the argument of `__type`."""


@lru_cache(maxsize=8)
def lengths(schema: GraphQLSchema) -> Mapping[tuple[str, str], float]:
    """Return the mean length of each list of the schema's description, by its type and field.

    A field that is mostly null has a mean below 1. Means are taken over all types, as few types
    have fields, values and possible types at once.
    """
    types = list(schema.type_map.values())
    fields: list[GraphQLField] = []
    for one in types:
        if is_object_type(one) or is_interface_type(one):
            fields += one.fields.values()
    inputs = [one.fields for one in types if is_input_object_type(one)]
    values = [one.values for one in types if is_enum_type(one)]
    possible = [schema.get_possible_types(one) for one in types if is_abstract_type(one)]
    directives = schema.directives
    typed = [*fields, *(one for held in inputs for one in held.values())]
    return {
        ("__Schema", "types"): len(types),
        ("__Schema", "directives"): len(directives),
        ("__Type", "fields"): len(fields) / len(types),
        ("__Type", "inputFields"): _total(inputs) / len(types),
        ("__Type", "enumValues"): _total(values) / len(types),
        ("__Type", "possibleTypes"): _total(possible) / len(types),
        ("__Type", "ofType"): _wrapped(typed),
        ("__Field", "args"): _total(field.args for field in fields) / max(1, len(fields)),
        ("__Directive", "args"): _total(one.args for one in directives) / max(1, len(directives)),
        # The type that a client asks for may be the largest one.
        (NAMED, "__type"): _largest(schema) * len(types) / max(1, len(fields)),
    }


def _largest(schema: GraphQLSchema) -> int:
    """Return the number of fields and arguments of the type that has most of them."""
    return max(
        sum(1 + len(field.args) for field in one.fields.values())
        for one in schema.type_map.values()
        if is_object_type(one)
    )


def _total(lists: Iterable[Sized]) -> int:
    return sum(map(len, lists))


def _wrapped(typed: list[GraphQLField | GraphQLInputField | GraphQLArgument]) -> float:
    """Return the share of wrapping types (lists and non-null) in all references to types."""
    wrapped = 0
    for one in typed:
        kind = one.type
        while is_wrapping_type(kind):
            wrapped += 1
            kind = kind.of_type
    return wrapped / max(1, wrapped + len(typed))


_SATURATED: Final = 10**9
_MAX_NESTING: Final = 100
_INTROSPECTION: Final = frozenset(("__schema", "__type"))
_LISTED: Final = frozenset(("edges", "nodes"))


class NestedTooDeeply(Exception):
    """The selections nest too deeply, with or without fragments, to be measured."""


class Measure(NamedTuple):
    """The sizes of a selection set with its fragments written out; each number saturates.

    `root_fields` counts the fields of the set's own level. `listed` is the cost of its `edges` and
    `nodes`, which a connection multiplies; `other` is the cost of the rest. Introspection is
    counted separately: `introspection_values` estimates the number of values in its answer.
    """

    depth: int = 0
    aliases: int = 0
    directives: int = 0
    fields: int = 0
    root_fields: int = 0
    listed: int = 0
    other: int = 0
    introspection_depth: int = 0
    introspection_fields: int = 0
    introspection_values: float = 0.0

    @property
    def cost(self) -> int:
        return min(self.listed + self.other, _SATURATED)

    def plus(self, other: "Measure") -> "Measure":
        """Combine two measures that lie side by side: the larger depths, the sums of the rest."""
        return Measure(
            max(self.depth, other.depth),
            _sum(self.aliases, other.aliases),
            _sum(self.directives, other.directives),
            _sum(self.fields, other.fields),
            _sum(self.root_fields, other.root_fields),
            _sum(self.listed, other.listed),
            _sum(self.other, other.other),
            max(self.introspection_depth, other.introspection_depth),
            _sum(self.introspection_fields, other.introspection_fields),
            _sum(self.introspection_values, other.introspection_values),
        )


N = TypeVar("N", int, float)


def _sum(one: N, other: N) -> N:
    return min(one + other, _SATURATED)


NOTHING: Final = Measure()


class Walk:
    """Measures the definitions of one document with one set of variables.

    `visited` counts the selections that were read, which are never more than the document holds.
    """

    __slots__ = ("_fragments", "_measured", "_schema", "_sizes", "visited")

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, sizes: Sizes) -> None:
        self._schema = schema
        self._sizes = sizes
        self._fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._measured: dict[str, Measure] = {}
        self.visited = 0

    def operation(self, node: OperationDefinitionNode) -> Measure:
        """Measure an operation; NestedTooDeeply if it nests too deeply to be measured."""
        root = self._schema.get_root_type(node.operation)
        directives = len(node.directives or ()) + sum(
            len(variable.directives or ()) for variable in node.variable_definitions or ()
        )
        return self._selections(node.selection_set, root, 0).plus(Measure(directives=directives))

    def unused_fragments(self) -> Measure:
        """Measure the fragments that no operation uses; the other rules still have to read them."""
        total = NOTHING
        for name in self._fragments:
            if name not in self._measured:
                total = total.plus(self._fragment(name, 0))
        return total

    def _fragment(self, name: str, level: int) -> Measure:
        if name in self._measured:
            return self._measured[name]
        node = self._fragments.get(name)
        if node is None:
            return NOTHING
        # A spread that closes a cycle finds nothing here; the rule against cycles rejects it.
        self._measured[name] = NOTHING
        own = Measure(directives=len(node.directives or ()))
        on = self._composite(node.type_condition.name.value)
        self._measured[name] = self._selections(node.selection_set, on, level).plus(own)
        return self._measured[name]

    def _selections(
        self, node: SelectionSetNode, parent: GraphQLNamedType | None, level: int
    ) -> Measure:
        if level > _MAX_NESTING:
            raise NestedTooDeeply
        total = NOTHING
        for selection in node.selections:
            self.visited += 1
            total = total.plus(self._selection(selection, parent, level + 1))
            if selection.directives:
                total = total.plus(Measure(directives=len(selection.directives)))
        return total

    def _selection(
        self, node: SelectionNode, parent: GraphQLNamedType | None, level: int
    ) -> Measure:
        if isinstance(node, FieldNode):
            return self._field(node, parent, level)
        if isinstance(node, FragmentSpreadNode):
            return self._fragment(node.name.value, level)
        if not isinstance(node, InlineFragmentNode):
            return NOTHING
        condition = node.type_condition
        on = self._composite(condition.name.value) if condition else parent
        return self._selections(node.selection_set, on, level)

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, level: int) -> Measure:
        name = node.name.value
        definition = self._definition(parent, name)
        below = NOTHING
        if node.selection_set:
            of = get_named_type(definition.type) if definition else None
            below = self._selections(node.selection_set, of, level)
        aliases = below.aliases + (node.alias is not None)
        if name in _INTROSPECTION:
            return Measure(
                aliases=aliases,
                directives=below.directives,
                root_fields=1,
                introspection_depth=below.depth + 1,
                introspection_fields=below.fields + 1,
                introspection_values=self._described(NAMED, name, below),
            )
        cost = self._cost(node, definition, below)
        return below._replace(
            depth=below.depth + 1,
            aliases=aliases,
            fields=below.fields + 1,
            root_fields=1,
            listed=cost if name in _LISTED else 0,
            other=0 if name in _LISTED else cost,
            introspection_values=self._described(parent.name, name, below)
            if parent is not None and parent.name.startswith("__")
            else below.introspection_values,
        )

    def _described(self, parent: str, name: str, below: Measure) -> float:
        """Estimate the number of values that an introspection field gives, with all below it."""
        length = lengths(self._schema).get((parent, name), 1.0)
        return min((below.introspection_values + 1) * length, _SATURATED)

    def _cost(self, node: FieldNode, definition: GraphQLField | None, below: Measure) -> int:
        price = price_of(definition)
        arguments = {argument.name.value: argument.value for argument in node.arguments or ()}
        size = self._sizes.of(price, arguments)
        if price.is_connection:
            return min((price.own + below.listed) * size + below.other, _SATURATED)
        return min((price.own + below.cost) * size, _SATURATED)

    def _definition(self, parent: GraphQLNamedType | None, name: str) -> GraphQLField | None:
        return self._schema.get_field(parent, name) if is_composite_type(parent) else None

    def _composite(self, name: str) -> GraphQLCompositeType | None:
        found = self._schema.get_type(name)
        return found if is_composite_type(found) else None
