"""Postings sorted by id: what a store must offer for a search, and how to ask several at once."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Row(NamedTuple):
    """One posting: an id (UUIDv7 text) and the whole tag set of what it names.

    Tags are in comparison form: a key, and the escaped levels of its value joined by `#`.
    """

    id: str
    tags: Mapping[str, str]


class Rows(NamedTuple):
    """Part of a stream. `last` is the id up to which it is complete, None at the stream's end.

    `last` may be set although nothing follows, as on DynamoDB when exactly the limit was read.
    """

    rows: tuple[Row, ...]
    last: str | None


class Stream(Protocol):
    """Postings in the search's direction of travel, one per id."""

    async def read(self, after: str | None, limit: int) -> Rows:
        """At most `limit` rows strictly beyond `after` (None: from the start), in one request.

        Short answers are welcome; one without rows must be the end or have a `last` beyond `after`.
        """

    async def count(self) -> int:
        """How many rows the whole stream has. A wrong answer costs reads, never results."""


class Source(Protocol):
    """The postings of one group."""

    def tag(self, key: str, value: str) -> Stream:
        """What carries the tag value or one below it."""

    def members(self) -> Stream:
        """Everything that is granted to the group."""


async def at_once(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """The answers in the order of the calls; a failure ends the other calls and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
