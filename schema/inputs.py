"""How much the variables of a request hold, which decides how long it takes to read them."""

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLSchema,
    ListTypeNode,
    NamedTypeNode,
    Node,
    NonNullTypeNode,
    OperationDefinitionNode,
    TypeNode,
    VariableNode,
    get_named_type,
)

_Typed: TypeAlias = "tuple[object, GraphQLNamedType | None]"


def mentions(document: DocumentNode, operation: OperationDefinitionNode) -> Counter[str]:
    """Count how often an operation names each of its variables; fragments count once."""
    if not operation.variable_definitions:
        return Counter()
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
        waiting += _children(node)
    return found


def hold_more(
    schema: GraphQLSchema,
    operation: OperationDefinitionNode,
    mentioned: Mapping[str, int],
    variables: Mapping[str, object],
    most: int,
) -> bool:
    """Tell whether variables hold more values than so many, counted for each mention of theirs.

    Lists and inputs are values too. A value of a scalar is one value whatever it holds: the JSON
    scalar has bounds of its own.
    """
    counted = 0
    for definition in operation.variable_definitions or ():
        name = definition.variable.name.value
        if name in variables:
            kind = schema.get_type(_named(definition.type))
            counted += _count(variables[name], kind, most) * max(1, mentioned.get(name, 0))
        if counted > most:
            return True
    return False


def _count(value: object, kind: GraphQLNamedType | None, most: int) -> int:
    """Count a value with all inside it; what is beyond `most` need not be exact."""
    counted, waiting = 1, [(value, kind)]
    while waiting and counted <= most:
        inside = _inside(*waiting.pop(), most)
        counted += len(inside)
        waiting += inside
    return counted


def _inside(value: object, kind: GraphQLNamedType | None, most: int) -> list[_Typed]:
    """Give the values of a list or an input with their types; one more than `most` suffices."""
    if isinstance(value, list):
        return [(one, kind) for one in value[: most + 1]]
    if not isinstance(value, dict) or not isinstance(kind, GraphQLInputObjectType):
        return []
    fields = kind.fields
    return [
        (one, get_named_type(fields[name].type) if name in fields else None)
        for name, one in value.items()
    ]


def _named(node: TypeNode) -> str:
    while isinstance(node, NonNullTypeNode | ListTypeNode):
        node = node.type
    if not isinstance(node, NamedTypeNode):
        raise TypeError(f"{type(node).__name__} is no type of a variable")
    return node.name.value


def _children(node: Node) -> list[Node]:
    values = (getattr(node, key) for key in node.keys)
    found: list[Node] = []
    for value in values:
        if isinstance(value, Node):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += [one for one in value if isinstance(one, Node)]
    return found
