"""Writes that know the meaning of their failed condition, sent in one transaction."""

from asyncio import sleep
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from random import uniform
from typing import Final, TypeAlias, TypeVar

from penstock.datastore.errors import Unavailable
from penstock.datastore.table.port import ConditionFailed, Item, Operation, Table

T = TypeVar("T")

ATTEMPTS: Final = 30
PAUSE: Final = 0.005


class Attempts:
    """The attempts of a call to read, decide and write, for `async for`.

    Before each but the first it pauses, for longer and longer. By chance, so that two writers that
    met once do not meet again.
    """

    __slots__ = ("_begun",)

    def __init__(self) -> None:
        self._begun = 0

    def __aiter__(self) -> "Attempts":
        return self

    async def __anext__(self) -> int:
        number = self._begun
        if number == ATTEMPTS:
            raise StopAsyncIteration
        if number:
            await sleep(uniform(0, number * PAUSE))  # noqa: S311 - no secret
        self._begun += 1
        return number


class StaleRead(Exception):
    """Another call wrote the resource since it was read: read it again and start over."""


class AlreadyDone(Exception):
    """The row under this call's own id exists: an attempt whose answer was lost succeeded."""


Refusal: TypeAlias = "Callable[[Item | None], Write | Preparation | Exception]"


def stale_read(_standing: Item | None) -> Exception:
    """The refusal of a write whose condition is that the row is as it was read."""
    return StaleRead()


def already_done(_standing: Item | None) -> Exception:
    """The refusal of a write that creates a row under an id of this call's own.

    DynamoDB remembers for ten minutes which transactions succeeded. Another database with its
    protocol may forget that earlier, before the request is repeated.
    """
    return AlreadyDone()


@dataclass(frozen=True, slots=True)
class Write:
    """An operation, and the meaning of its failed condition.

    The refusal is called with the item under the key; it returns another write to try in place of
    this one, what to prepare before this one is tried again, or the failure to raise.
    """

    operation: Operation
    refusal: Refusal = stale_read


@dataclass(frozen=True, slots=True)
class Preparation:
    """Writes of a transaction of their own, after which a refused write is tried again."""

    writes: Sequence[Write]


async def commit(table: Table, writes: Sequence[Write]) -> None:
    """Do all writes or none; where a refusal returns another write, try again with it.

    Raises the first failure that a refusal returns, StaleRead before all others, because
    conclusions from an old reading may be wrong. AlreadyDone means that all was written.
    """
    pending = list(writes)
    async for _ in Attempts():
        try:
            await table.transact([write.operation for write in pending])
        except ConditionFailed as cancelled:
            try:
                preparations = _replace_refused(pending, cancelled)
            except AlreadyDone:
                return
            for preparation in preparations:
                await commit(table, preparation.writes)
        else:
            return
    raise Unavailable("The same items are being written by many at once.")


async def retry_on_conflict(noun: str, attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat an attempt to read, decide and write until no other writer comes between.

    Raises Unavailable, which names the noun, if others come between each time.
    """
    async for _ in Attempts():
        try:
            return await attempt()
        except StaleRead:
            continue
    raise Unavailable(f"The {noun} is being written by many at once.")


def _replace_refused(pending: list[Write], cancelled: ConditionFailed) -> list[Preparation]:
    failures: list[Exception] = []
    preparations: list[Preparation] = []
    for position, standing in cancelled.failed:
        outcome = pending[position].refusal(standing)
        match outcome:
            case Write():
                pending[position] = outcome
            case Preparation():
                preparations.append(outcome)
            case failure:
                failures.append(failure)
    if failures:
        raise min(failures, key=_rank)
    return preparations


def _rank(failure: Exception) -> int:
    match failure:
        case AlreadyDone():
            return 0
        case StaleRead():
            return 1
        case _:
            return 2
