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

from penstock.schema.engine.cost import SizeArguments, field_price

ANY_TYPE = ""
"""Stands for any type as the argument of `__type`."""


@lru_cache(maxsize=8)
def list_lengths(schema: GraphQLSchema) -> Mapping[tuple[str, str], float]:
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
        ("__Type", "inputFields"): _total_length(inputs) / len(types),
        ("__Type", "enumValues"): _total_length(values) / len(types),
        ("__Type", "possibleTypes"): _total_length(possible) / len(types),
        ("__Type", "ofType"): _wrapper_share(typed),
        ("__Field", "args"): _total_length(field.args for field in fields) / max(1, len(fields)),
        ("__Directive", "args"): _total_length(one.args for one in directives)
        / max(1, len(directives)),
        # The type that a client asks for may be the largest one.
        (ANY_TYPE, "__type"): _largest_type_size(schema) * len(types) / max(1, len(fields)),
    }


def _largest_type_size(schema: GraphQLSchema) -> int:
    """Return the number of fields and arguments of the type that has most of them."""
    return max(
        sum(1 + len(field.args) for field in one.fields.values())
        for one in schema.type_map.values()
        if is_object_type(one)
    )


def _total_length(lists: Iterable[Sized]) -> int:
    return sum(map(len, lists))


def _wrapper_share(typed: list[GraphQLField | GraphQLInputField | GraphQLArgument]) -> float:
    """Return the share of wrapping types (lists and non-null) in all references to types."""
    wrapped = 0
    for one in typed:
        kind = one.type
        while is_wrapping_type(kind):
            wrapped += 1
            kind = kind.of_type
    return wrapped / max(1, wrapped + len(typed))


_MAX_NUMBER: Final = 10**9
_MAX_NESTING: Final = 100
_INTROSPECTION_FIELDS: Final = frozenset(("__schema", "__type"))
_NODE_LISTS: Final = frozenset(("edges", "nodes"))


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
        return min(self.listed + self.other, _MAX_NUMBER)

    def plus(self, other: "Measure") -> "Measure":
        """Combine two measures that lie side by side: the larger depths, the sums of the rest."""
        return Measure(
            max(self.depth, other.depth),
            _saturating_sum(self.aliases, other.aliases),
            _saturating_sum(self.directives, other.directives),
            _saturating_sum(self.fields, other.fields),
            _saturating_sum(self.root_fields, other.root_fields),
            _saturating_sum(self.listed, other.listed),
            _saturating_sum(self.other, other.other),
            max(self.introspection_depth, other.introspection_depth),
            _saturating_sum(self.introspection_fields, other.introspection_fields),
            _saturating_sum(self.introspection_values, other.introspection_values),
        )


N = TypeVar("N", int, float)


def _saturating_sum(one: N, other: N) -> N:
    return min(one + other, _MAX_NUMBER)


EMPTY_MEASURE: Final = Measure()


class DocumentWalk:
    """Measures the definitions of one document with one set of variables.

    `visited` counts the selections that were read, which are never more than the document holds.
    """

    __slots__ = ("_fragments", "_measured", "_roots", "_schema", "_sizes", "visited")

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, sizes: SizeArguments) -> None:
        self._schema = schema
        self._roots = (schema.query_type, schema.mutation_type, schema.subscription_type)
        self._sizes = sizes
        self._fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._measured: dict[str, Measure] = {}
        self.visited = 0

    def measure_operation(self, node: OperationDefinitionNode) -> Measure:
        """Measure an operation; NestedTooDeeply if it nests too deeply to be measured."""
        root = self._schema.get_root_type(node.operation)
        directives = len(node.directives or ()) + sum(
            len(variable.directives or ()) for variable in node.variable_definitions or ()
        )
        return self._measure_selections(node.selection_set, root, 0).plus(
            Measure(directives=directives)
        )

    def measure_unused_fragments(self) -> Measure:
        """Measure the fragments that no operation uses; the other rules still have to read them."""
        total = EMPTY_MEASURE
        for name in self._fragments:
            if name not in self._measured:
                total = total.plus(self._measure_fragment(name, 0))
        return total

    def _measure_fragment(self, name: str, level: int) -> Measure:
        if name in self._measured:
            return self._measured[name]
        node = self._fragments.get(name)
        if node is None:
            return EMPTY_MEASURE
        # A spread that closes a cycle finds nothing here; the rule against cycles rejects it.
        self._measured[name] = EMPTY_MEASURE
        own = Measure(directives=len(node.directives or ()))
        on = self._composite_type(node.type_condition.name.value)
        self._measured[name] = self._measure_selections(node.selection_set, on, level).plus(own)
        return self._measured[name]

    def _measure_selections(
        self, node: SelectionSetNode, parent: GraphQLNamedType | None, level: int
    ) -> Measure:
        if level > _MAX_NESTING:
            raise NestedTooDeeply
        total = EMPTY_MEASURE
        for selection in node.selections:
            self.visited += 1
            total = total.plus(self._measure_selection(selection, parent, level + 1))
            if selection.directives:
                total = total.plus(Measure(directives=len(selection.directives)))
        return total

    def _measure_selection(
        self, node: SelectionNode, parent: GraphQLNamedType | None, level: int
    ) -> Measure:
        if isinstance(node, FieldNode):
            return self._measure_field(node, parent, level)
        if isinstance(node, FragmentSpreadNode):
            return self._measure_fragment(node.name.value, level)
        if not isinstance(node, InlineFragmentNode):
            return EMPTY_MEASURE
        condition = node.type_condition
        on = self._composite_type(condition.name.value) if condition else parent
        return self._measure_selections(node.selection_set, on, level)

    def _measure_field(
        self, node: FieldNode, parent: GraphQLNamedType | None, level: int
    ) -> Measure:
        name = node.name.value
        definition = self._field_definition(parent, name)
        below = EMPTY_MEASURE
        if node.selection_set:
            of = get_named_type(definition.type) if definition else None
            below = self._measure_selections(node.selection_set, of, level)
        aliases = below.aliases + (node.alias is not None)
        if name in _INTROSPECTION_FIELDS:
            return Measure(
                aliases=aliases,
                directives=below.directives,
                root_fields=1,
                introspection_depth=below.depth + 1,
                introspection_fields=below.fields + 1,
                introspection_values=self._introspection_values(ANY_TYPE, name, below),
            )
        cost = self._field_cost(node, parent, definition, below)
        return below._replace(
            depth=below.depth + 1,
            aliases=aliases,
            fields=below.fields + 1,
            root_fields=1,
            listed=cost if name in _NODE_LISTS else 0,
            other=0 if name in _NODE_LISTS else cost,
            introspection_values=self._introspection_values(parent.name, name, below)
            if parent is not None and parent.name.startswith("__")
            else below.introspection_values,
        )

    def _introspection_values(self, parent: str, name: str, below: Measure) -> float:
        """Estimate the number of values that an introspection field gives, with all below it."""
        length = list_lengths(self._schema).get((parent, name), 1.0)
        return min((below.introspection_values + 1) * length, _MAX_NUMBER)

    def _field_cost(
        self,
        node: FieldNode,
        parent: GraphQLNamedType | None,
        definition: GraphQLField | None,
        below: Measure,
    ) -> int:
        price = field_price(definition)
        arguments = {argument.name.value: argument.value for argument in node.arguments or ()}
        size = self._sizes.size_of(price, arguments)
        # The arguments of a root are read once, and paid with the document and the variables.
        own = 0 if parent in self._roots else self._sizes.coercion_units(definition, arguments)
        if price.is_connection:
            return min(own + (price.own + below.listed) * size + below.other, _MAX_NUMBER)
        return min(own + (price.own + below.cost) * size, _MAX_NUMBER)

    def _field_definition(self, parent: GraphQLNamedType | None, name: str) -> GraphQLField | None:
        return self._schema.get_field(parent, name) if is_composite_type(parent) else None

    def _composite_type(self, name: str) -> GraphQLCompositeType | None:
        found = self._schema.get_type(name)
        return found if is_composite_type(found) else None
