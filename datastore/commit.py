"""Writes as values that know what a failed condition means, sent in one transaction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from datastore.errors import Unavailable
from datastore.table import ConditionFailed, Item, Operation, Table

ATTEMPTS = 20


class Moved(Exception):
    """The resource was written by somebody else since it was read: read again and start over."""


Refusal: TypeAlias = "Callable[[Item | None], Write | Exception]"


def moved(_standing: Item | None) -> Exception:
    """The refusal of a write that only holds for the row as it was read."""
    return Moved()


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
    concludes from the other conditions may be wrong.
    """
    pending = list(writes)
    for _ in range(ATTEMPTS):
        try:
            await table.transact([write.operation for write in pending])
        except ConditionFailed as cancelled:
            _replace_refused(pending, cancelled)
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
        raise min(failures, key=lambda failure: not isinstance(failure, Moved))
