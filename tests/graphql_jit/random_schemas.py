"""Random schemas over faulty data, and random documents for them.

The value of a field depends only on a seed and on its place in the answer, so that it is the same
for both executors and for any order of execution.
"""

import asyncio
from collections.abc import Callable, Generator
from random import Random
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLField,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLInterfaceType,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLScalarType,
    GraphQLSchema,
    GraphQLString,
    GraphQLUnionType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
)


class AttributeObject:
    """An object with attributes, whose text is the same everywhere."""

    kind: str

    def __repr__(self) -> str:
        return "<Held>"


class AwaitableValue:
    """A value to be awaited; nobody has to await it."""

    def __init__(self, now: Callable[[], Any], turns: int) -> None:
        self.now = now
        self.turns = turns

    def __await__(self) -> Generator[Any, None, Any]:
        for _ in range(self.turns):
            yield from asyncio.sleep(0).__await__()
        return self.now()


class UnknownValue:
    """A value of an unknown type."""

    def __repr__(self) -> str:
        return "<Stranger>"


def capitals(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value.upper()


COLOUR = GraphQLEnumType("Colour", {"RED": "red", "BLUE": 2})
CAPITALS = GraphQLScalarType("Capitals", coerce_output_value=capitals)
FINE: dict[Any, list[Any]] = {
    GraphQLString: ["", "text"],
    GraphQLID: ["a", 7],
    GraphQLInt: [0, 1, True, -2147483648],
    GraphQLFloat: [1.5, 2, 0.0],
    GraphQLBoolean: [True, False, 1],
    COLOUR: ["red", 2],
    CAPITALS: ["abc"],
}
FAULTY: list[Any] = [
    object,
    UnknownValue,
    2147483648,
    float("nan"),
    "?",
    [],
    {},
    ValueError("given"),
]


class ValueSource:
    """Creates values; `faults` percent do not fit their type, `waits` percent are awaitable."""

    def __init__(self, seed: int, faults: int, waits: int) -> None:
        self.seed = seed
        self.faults = faults
        self.waits = waits

    def random(self, *place: Any) -> Random:
        return Random(repr((self.seed, place)))

    def value(self, kind: Any, place: tuple[Any, ...], *, waits: bool = True) -> Any:
        random = self.random(*place)
        if waits and random.randrange(100) < self.waits:
            return AwaitableValue(lambda: self.now(kind, place), random.randrange(4))
        return self.now(kind, place)

    def now(self, kind: Any, place: tuple[Any, ...]) -> Any:
        random = self.random("now", *place)
        if random.randrange(100) < self.faults:
            return self.fault(random)
        if is_non_null_type(kind):
            kind = kind.of_type
        elif random.randrange(100) < 10:
            return None
        if is_list_type(kind):
            items = [
                self.value(kind.of_type, (*place, index), waits=random.randrange(4) == 0)
                for index in range(random.randrange(4))
            ]
            return tuple(items) if random.randrange(4) == 0 else items
        if is_leaf_type(kind):
            return random.choice(FINE[kind])
        return self.make_object(kind, place, random)

    def fault(self, random: Random) -> Any:
        which = random.randrange(4)
        if which == 0:
            raise ValueError("raised")
        if which == 1:
            return None
        chosen = random.choice(FAULTY)
        return chosen() if isinstance(chosen, type) else chosen

    def make_object(self, kind: Any, place: tuple[Any, ...], random: Random) -> Any:
        """Return an object, a mapping or one with attributes, usually of a possible type."""
        if is_abstract_type(kind):
            kind = random.choice(self.possible(kind))
        values: dict[str, Any] = {"kind": kind.name}
        if random.randrange(100) < self.faults:
            values["kind"] = random.choice(["T0", "T2", "Query", "Colour", "None such", None, 1])
        for name, field in kind.fields.items():
            if field.resolve is None and self.has_value(field.type, place, random):
                values[name] = self.attribute(field.type, (*place, name), random)
        if random.randrange(3) == 0:
            return values
        held = AttributeObject()
        held.__dict__.update(values)
        return held

    def has_value(self, kind: Any, place: tuple[Any, ...], random: Random) -> bool:
        """Return whether an object has a value; nesting of objects ends."""
        if random.randrange(100) < self.faults:
            return False
        return is_leaf_type(get_named_type(kind)) or random.randrange(len(place)) < 2

    def attribute(self, kind: Any, place: tuple[Any, ...], random: Random) -> Any:
        try:
            return self.value(kind, place, waits=random.randrange(10) == 0)
        except ValueError as error:
            return error

    def possible(self, kind: Any) -> Any:
        return kind.types if isinstance(kind, GraphQLUnionType) else kind.extensions["possible"]


def runtime_type(value: Any, _info: Any, _kind: Any) -> Any:
    """Return an object's type name, which may be invalid."""
    return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)


class SchemaMaker:
    """Creates a schema of a few types that refer to each other, with all kinds of resolver."""

    def __init__(self, source: ValueSource, random: Random) -> None:
        self.source = source
        self.random = random
        self.named = GraphQLInterfaceType(
            "Named",
            lambda: {"name": GraphQLField(self.name_type)},
            resolve_type=runtime_type,
            extensions={"possible": []},
        )
        self.name_type: Any = random.choice([GraphQLString, GraphQLNonNull(GraphQLString)])
        self.objects = [self.object(f"T{number}") for number in range(3)]
        self.named.extensions["possible"] += self.objects
        self.union = GraphQLUnionType("Any", self.objects[:2], resolve_type=runtime_type)

    def schema(self) -> GraphQLSchema:
        calls = self.random.choice([50, 100])
        query = GraphQLObjectType("Query", lambda: self.fields(calls=calls))
        mutation = GraphQLObjectType("Mutation", lambda: self.fields(calls=calls))
        return GraphQLSchema(query, mutation, types=self.objects)

    def object(self, name: str) -> GraphQLObjectType:
        calls = self.random.choice([0, 0, 30, 60])
        told = self.random.randrange(4) == 0
        return GraphQLObjectType(
            name,
            lambda: {"name": GraphQLField(self.name_type), **self.fields(calls=calls)},
            interfaces=[self.named],
            is_type_of=(lambda value, info: runtime_type(value, info, None) == name)
            if told
            else None,
        )

    def fields(self, *, calls: int) -> dict[str, GraphQLField]:
        return {f"f{number}": self.field(calls) for number in range(5)}

    def field(self, calls: int) -> GraphQLField:
        kind = self.type(2)
        if self.random.randrange(100) >= calls:
            return GraphQLField(kind)
        arguments = {}
        if self.random.randrange(3) == 0:
            arguments = {
                "a": GraphQLArgument(GraphQLInt, default_value=3),
                "b": GraphQLArgument(GraphQLList(GraphQLNonNull(COLOUR))),
            }
        return GraphQLField(kind, arguments, resolve=self.resolver(kind))

    def type(self, lists: int) -> Any:
        if lists and self.random.randrange(4) == 0:
            kind: Any = GraphQLList(self.type(lists - 1))
        else:
            objects = [*self.objects, self.named, self.union]
            kind = self.random.choice([*FINE, *objects, *objects])
        return GraphQLNonNull(kind) if self.random.randrange(3) == 0 else kind

    def resolver(self, kind: Any) -> Callable[..., Any]:
        def resolve(_parent: Any, info: Any, **arguments: Any) -> Any:
            place = (*info.path.as_list(), repr(arguments))
            return self.source.value(kind, place)

        async def resolve_later(_parent: Any, info: Any, **arguments: Any) -> Any:
            return self.source.now(kind, (*info.path.as_list(), repr(arguments)))

        return self.random.choice([resolve, resolve, resolve_later])


class DocumentMaker:
    """Creates a document for a schema, in which no two fields conflict."""

    def __init__(self, schema: GraphQLSchema, random: Random) -> None:
        self.schema = schema
        self.random = random
        self.fragments: list[str] = []
        self.left = 40

    def document(self, root: Any, operation: str) -> str:
        selections = self.selections(root, 0)
        header = "($yes: Boolean! = true, $no: Boolean! = false, $a: Int, $b: [Colour!])"
        return f"{operation} Q{header} {selections}\n" + "\n".join(self.fragments)

    def selections(self, kind: Any, depth: int) -> str:
        parts = [
            self.selection(kind, depth) for _ in range(self.random.randrange(1, 5 if depth else 7))
        ]
        return "{ " + " ".join(part for part in parts if part) + " __typename }"

    def selection(self, kind: Any, depth: int) -> str:
        which = self.random.randrange(10)
        if which == 0:
            return f"... {self.condition()} {self.selections(kind, depth + 1)}"
        if which == 1 or not getattr(kind, "fields", None):
            return self.on_type(kind, depth)
        return self.field(kind, depth)

    def on_type(self, kind: Any, depth: int) -> str:
        if depth > 3:
            return ""
        if is_object_type(kind):
            on = kind
        else:
            on = self.random.choice(self.schema.get_possible_types(kind))
        below = self.selections(on, depth + 1)
        if self.random.randrange(2):
            return f"... on {on.name} {below}"
        name = f"F{len(self.fragments)}"
        self.fragments.append(f"fragment {name} on {on.name} {below}")
        return f"...{name} {self.condition()}"

    def field(self, kind: Any, depth: int) -> str:
        name, field = self.random.choice(list(kind.fields.items()))
        self.left -= 1
        named = get_named_type(field.type)
        below = ""
        if not is_leaf_type(named):
            if depth > 4 or self.left < 0:
                return ""
            below = self.selections(named, depth + 1)
        key = f"{kind.name}_{name}" + (f"_{abs(self.left)}_{self.left < 0}" if field.args else "")
        return f"{key}: {name}{self.arguments(field)} {self.condition()} {below}"

    def arguments(self, field: GraphQLField) -> str:
        if not field.args or self.random.randrange(3) == 0:
            return ""
        a = self.random.choice(["1", "null", "$a"])
        b = self.random.choice(["[RED]", "BLUE", "$b"])
        return f"(a: {a}, b: {b})"

    def condition(self) -> str:
        if self.random.randrange(4):
            return ""
        given = ["@skip(if: $no)", "@include(if: $yes)", "@include(if: false)", "@skip(if: $yes)"]
        return self.random.choice(given)
