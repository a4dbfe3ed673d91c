"""The size of answers in bytes: what the fields promise, and a count where that is not enough.

An answer is refused before it is written as JSON if it would be too large: a text that many objects
share takes little memory, and much in the answer.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from math import inf
from typing import Final

import msgspec
from graphql import GraphQLEnumType, GraphQLField, TypeNameMetaFieldDef, get_named_type

from penstock.datastore.roles import MAX_GROUP_BYTES
from penstock.schema.core.relay import MAX_ID_LENGTH
from penstock.schema.core.text_bounds import most_characters

_CHARACTER_BYTES: Final = 6
"""The most bytes of a character in JSON: a control character is written by its number."""

_TYPE_NAME: Final = 128

_SCALARS: Final[Mapping[str, float]] = {
    "Boolean": 5,
    "DateTime": 26,
    "Float": 25,
    "GroupPath": 2 + MAX_GROUP_BYTES * _CHARACTER_BYTES,
    "ID": 2 + MAX_ID_LENGTH,
    "Int": 11,
    "Long": 22,
}


def leaf_bytes(definition: GraphQLField) -> float:
    """Return the most bytes of a value of a leaf field as JSON; infinite if it promises nothing."""
    kind = get_named_type(definition.type)
    if isinstance(kind, GraphQLEnumType):
        return 2 + max(map(len, kind.values))
    if definition is TypeNameMetaFieldDef:
        return 2 + _TYPE_NAME
    declared = most_characters(definition.extensions.get("strawberry-definition"))
    if declared is not None:
        return 2 + declared * _CHARACTER_BYTES
    return _SCALARS.get(kind.name, inf)


_SHORT: Final = 64
"""The longest text whose characters stand for its bytes; longer ones are encoded to be sure."""

_OTHER_BYTES: Final = 6
"""The bytes of a number, a boolean or a null, roughly, with the comma."""


def count_bytes(data: object, most: int) -> int:
    """Count the bytes of completed data, roughly, until they are more than `most`.

    What is JSON already counts nothing.
    """
    total, waiting = 0, [data]
    while waiting and total <= most:
        held = waiting.pop()
        if type(held) is dict:
            total += _count_leaves(held.values(), waiting, most) + _count_keys(held)
        elif type(held) is list:
            total += _count_leaves(held, waiting, most)
        else:
            total += _count_leaves((held,), waiting, most)
    return total


def _count_leaves(values: Collection[object], waiting: list[object], most: int) -> int:
    """Count the bytes of leaves, and leave lists and objects in `waiting`."""
    total = _OTHER_BYTES * len(values)
    for one in values:
        kind = type(one)
        if kind is str:
            total += len(one) if len(one) <= _SHORT else _count_text(one)  # type: ignore[arg-type]
            if total > most:
                break
        elif kind is dict or kind is list:
            waiting.append(one)
        elif kind is Decimal:
            total += len(str(one))
    return total


def _count_keys(held: dict[str, object]) -> int:
    return sum(map(len, held)) + 3 * len(held)


def _count_text(text: str) -> int:
    try:
        return len(msgspec.json.encode(text))
    except UnicodeEncodeError:
        return len(text)
