"""What fields cost: one for each object read from a store, or what the field declares."""

from typing import Final, NamedTuple

from graphql import (
    GraphQLField,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_composite_type,
)
from strawberry.types.field import StrawberryField

from penstock.schema.cursors import DEFAULT_PAGE_SIZE

PAGE_ARGUMENTS: Final = ("first", "last")
_KEY: Final = "penstock.price"


class Price(NamedTuple):
    """The cost of one object of a field, and the argument whose size multiplies it."""

    own: int
    sized_by: tuple[str, ...] = ()

    @property
    def is_connection(self) -> bool:
        return self.sized_by == PAGE_ARGUMENTS


FREE: Final = Price(0)


def costs(own: int, sized_by: str | None = None) -> dict[object, Price]:
    """Declare a field's price: `strawberry.field(metadata=costs(5))`.

    `sized_by` names a list argument; the field and all below it count once for each of its values.
    """
    return {_KEY: Price(own, (sized_by,) if sized_by else ())}


def price_of(definition: GraphQLField | None) -> Price:
    """Look up what a field declares; without a declaration, a resolved object costs 1."""
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


class Sizes:
    """How many objects the arguments of a field ask for.

    `values` holds the operation's variables with their defaults; None stands for not yet known,
    which counts as `maximum`. `consulted` gathers the names of variables that decide a size.
    """

    __slots__ = ("consulted", "maximum", "values")

    def __init__(self, values: dict[str, object] | None, maximum: int) -> None:
        self.values = values
        self.maximum = maximum
        self.consulted: set[str] = set()

    def of(self, price: Price, arguments: dict[str, ValueNode]) -> int:
        if not price.sized_by:
            return 1
        given = [self._of_argument(arguments.get(name)) for name in price.sized_by]
        sizes = [size for size in given if size is not None]
        if not sizes:
            return DEFAULT_PAGE_SIZE if price.is_connection else 1
        return min(max(*sizes, 1), self.maximum)

    def _of_argument(self, node: ValueNode | None) -> int | None:
        if isinstance(node, VariableNode):
            return self.of_variable(node.name.value)
        return of_literal(node) if node is not None else None

    def of_variable(self, name: str) -> int | None:
        """Give the size a variable stands for; None where it is absent or null."""
        self.consulted.add(name)
        value = self.maximum if self.values is None else self.values.get(name)
        if isinstance(value, list):
            return len(value)
        if value is None:
            return None
        return value if type(value) is int else 1


def of_literal(node: ValueNode) -> int | None:
    """Give the size a literal stands for; None for null."""
    if isinstance(node, NullValueNode):
        return None
    if isinstance(node, IntValueNode):
        return int(node.value[:10])
    return len(node.values) if isinstance(node, ListValueNode) else 1
