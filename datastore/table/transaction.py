"""Writes as values that know what a failed condition means, sent in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.datastore.errors import Unavailable
from penstock.datastore.table.port import ConditionFailed, Item, Operation, Table

ATTEMPTS = 20


class Moved(Exception):
    """The resource was written by somebody else since it was read: read again and start over."""


class Done(Exception):
    """A row that nobody else makes stands already: an attempt whose answer was lost took effect."""


Refusal: TypeAlias = "Callable[[Item | None], Write | Exception]"


def moved(_standing: Item | None) -> Exception:
    """The refusal of a write that only holds for the row as it was read."""
    return Moved()


def done(_standing: Item | None) -> Exception:
    """The refusal of a write that makes a row under an id of this call's own.

    DynamoDB remembers for ten minutes which transactions it has done; what stands in for it may
    have forgotten when it is asked again.
    """
    return Done()


@dataclass(frozen=True, slots=True)
class Write:
    """An operation, and what a failed condition means given the item that stood there.

    The refusal is either another write to try in its place or the failure to raise.
    """

    operation: Operation
    refused: Refusal = moved


async def commit(table: Table, writes: Sequence[Write]) -> None:
    """Do all writes or none; where a refusal offers another write, try again with it.

    Raises the first failure any refusal gives, Moved before all others: what a stale reader
    concludes from the other conditions may be wrong. Where one gives Done, all was written.
    """
    pending = list(writes)
    for _ in range(ATTEMPTS):
        try:
            await table.transact([write.operation for write in pending])
        except ConditionFailed as cancelled:
            try:
                _replace_refused(pending, cancelled)
            except Done:
                return
        else:
            return
    raise Unavailable("The same items are being written by many at once.")


def _replace_refused(pending: list[Write], cancelled: ConditionFailed) -> None:
    failures: list[Exception] = []
    for position, standing in cancelled.failed:
        outcome = pending[position].refused(standing)
        if isinstance(outcome, Write):
            pending[position] = outcome
        else:
            failures.append(outcome)
    if failures:
        raise min(failures, key=_rank)


def _rank(failure: Exception) -> int:
    match failure:
        case Done():
            return 0
        case Moved():
            return 1
        case _:
            return 2
