"""What an execution waits for, and what comes of it."""

from collections.abc import Awaitable, Collection, Iterable, Sequence
from itertools import count, repeat
from typing import Any, NamedTuple, TypeAlias

from penstock.execution.fields import Field, Place

Entry: TypeAlias = tuple[Any, Place, Any]
"""What waits: an object of the answer, its place, and what is awaited or asked for a value."""


class Raised(Exception):
    """What came in place of a value."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class Later(NamedTuple):
    """A value that graphql-core completes by and by, and where it then belongs.

    Without a field it is the whole answer.
    """

    field: Field | None
    place: Place
    awaitable: Awaitable[Any]


def entries_of(
    answers: Sequence[Any], place: Place, sources: Sequence[Any], others: Collection[int]
) -> Iterable[Entry]:
    """Give the entries of the list at a place, whose items answer for the sources one by one.

    Nothing is waited for at the indices in `others`.
    """
    places = zip(repeat(place), count(), repeat(None))
    entries = zip(answers, places, sources, strict=False)
    return (entry for entry in entries if entry[1][1] not in others) if others else entries
