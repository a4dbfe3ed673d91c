"""Null propagation: an error makes the nearest nullable field or list item above it null.

This module is for late errors: those of awaited values, whose places are in the answer already. An
error that occurs while an object is completed is raised instead, and caught at the nearest nullable
place by the code that `codegen`, `codegen_objects` and `codegen_composites` generate.
"""

from typing import Any, TypeAlias

from penstock.graphql_jit.plan import Field, Place, keys_of

Container: TypeAlias = "dict[str, Any] | list[Any]"


def nearest_nullable(field: Field | None, place: Place) -> Place:
    """Return the nearest place that may be null, from the place of a field's value upwards.

    None stands for the whole answer.
    """
    while field is not None and place is not None:
        depth = _depth(place)
        while depth and not field.nullable[depth]:
            place, depth = _parent_place(place), depth - 1
        if field.nullable[depth]:
            return place
        field, place = field.parent_field, _parent_place(place)
    return None


def put_value(data: dict[str, Any] | None, place: Place, value: Any) -> None:
    """Store a value in an answer, unless the object or list around it has become null."""
    *keys, last = keys_of(place)
    held: Any = data
    for key in keys:
        if held is None:
            return
        held = held[key]
    if held is not None:
        held[last] = value


def _parent_place(place: Place) -> Place:
    return None if place is None else place[0]


def _depth(place: Place) -> int:
    """Count the lists between a place and its field."""
    depth = 0
    while place is not None and isinstance(place[1], int):
        place, depth = place[0], depth + 1
    return depth
