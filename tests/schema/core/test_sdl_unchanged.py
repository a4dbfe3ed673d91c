"""A rewording of descriptions changes nothing else in the schema.

`STRUCTURE` is the SHA-256 of the schema without descriptions, its types and fields sorted. A
deliberate change of types, fields, arguments or defaults copies the digest from the failure.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    lexicographic_sort_schema,
    print_schema,
)

from penstock.schema import sdl

STRUCTURE = "678e4fc00747fab04fb2bd424b45cf17dafc26af3eb568d0a6c6e97f28172b28"
SMALL = '''
"""The fields that read data."""
type Query {
  """The words of a page."""
  words(
    """The number of words."""
    first: Int = 20
  ): [Kind!]!
}

"""The kind of a word."""
enum Kind {
  """The word names a thing."""
  NOUN
}

input Word {
  """The kind of the word."""
  kind: Kind!
}
'''


class DescribedPart(Protocol):
    description: str | None


def parts(type: GraphQLNamedType) -> Iterator[DescribedPart]:
    """Yield a type, its fields or values, and the arguments of its fields."""
    yield type
    match type:
        case GraphQLEnumType(values=values):
            yield from values.values()
        case GraphQLInputObjectType(fields=inputs):
            yield from inputs.values()
        case GraphQLObjectType(fields=fields) | GraphQLInterfaceType(fields=fields):
            for field in fields.values():
                yield field
                yield from field.args.values()


def without_descriptions(schema: GraphQLSchema) -> str:
    for type in schema.type_map.values():
        for part in parts(type):
            part.description = None
    return print_schema(lexicographic_sort_schema(schema))


def digest(text: str) -> str:
    return sha256(without_descriptions(build_schema(text)).encode()).hexdigest()


def test_only_descriptions_of_the_schema_change() -> None:
    assert digest(sdl()) == STRUCTURE


def test_a_description_is_not_part_of_the_digest() -> None:
    assert without_descriptions(build_schema(SMALL)) == (
        "enum Kind {\n  NOUN\n}\n\n"
        "type Query {\n  words(first: Int = 20): [Kind!]!\n}\n\n"
        "input Word {\n  kind: Kind!\n}"
    )


def test_a_default_is_part_of_the_digest() -> None:
    assert digest(SMALL) != digest(SMALL.replace("= 20", "= 10"))
