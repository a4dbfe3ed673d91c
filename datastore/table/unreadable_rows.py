"""Rows that this release cannot read as records, because they are damaged or of another release.

A list leaves them out and goes on; a read by id raises `errors.Unreadable`. Each such read is
counted and, once for each row, logged with the row's key.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import msgspec

from penstock.datastore.errors import Unreadable
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.table.port import Attributes, Key
from penstock.datastore.text import unescape

_USER: Final = "U:"
_MOST_LOGGED: Final = 10_000
_MOST_NAMED: Final = 100

logger = logging.getLogger("penstock.table")

T = TypeVar("T")


class UnreadableRow(NamedTuple):
    """A row that could not be read, and the problem.

    `group` is the group whose administrators may know its key; `user` is the owner of the library
    in which it lies.
    """

    key: Key
    problem: str
    group: GroupPath
    user: str | None

    def is_administered_by(self, caller: Caller) -> bool:
        """Whether the caller may know the key of the row."""
        if self.user is not None and self.user == caller.user_id:
            return True
        return caller.has_role(Role.ADMIN, self.group)


@dataclass(slots=True)
class _Journal:
    """The reads of unreadable rows in this process, and the keys of those in its log."""

    reads: int = 0
    logged: set[Key] = field(default_factory=set)

    def note(self, row: UnreadableRow) -> None:
        self.reads += 1
        if row.key in self.logged:
            return
        if len(self.logged) >= _MOST_LOGGED:
            self.logged.clear()
        self.logged.add(row.key)
        logger.error("the row %s, %s cannot be read: %s", *row.key, row.problem)


_journal: Final = _Journal()
unreadable_of_operation: ContextVar[dict[Key, UnreadableRow] | None] = ContextVar(
    "unreadable rows of the operation", default=None
)
"""What `report_unreadable` adds to, if an operation collects what it cannot read."""


def unreadable_reads() -> int:
    """The number of reads of unreadable rows since this process began."""
    return _journal.reads


@contextmanager
def collect_unreadable() -> Iterator[Mapping[Key, UnreadableRow]]:
    """Collect the rows that cannot be read within the block, the first 100 of them."""
    found: dict[Key, UnreadableRow] = {}
    token = unreadable_of_operation.set(found)
    try:
        yield found
    finally:
        unreadable_of_operation.reset(token)


def report_unreadable(row: Attributes, error: Exception) -> Unreadable:
    """Count and log a row that could not be read; return the error for who asked for it."""
    found = _describe(row, error)
    _journal.note(found)
    collected = unreadable_of_operation.get()
    if collected is not None and len(collected) < _MOST_NAMED:
        collected[found.key] = found
    return Unreadable()


def _describe(row: Attributes, error: Exception) -> UnreadableRow:
    key = Key(str(row.get("pk", "")), str(row.get("sk", "")))
    library = key.pk.removeprefix(_USER) if key.pk.startswith(_USER) else None
    return UnreadableRow(
        key,
        describe_error(error),
        _owner_of(row),
        None if library is None else unescape(library),
    )


def _owner_of(row: Attributes) -> GroupPath:
    """The group that owns what is in the row, or else the root."""
    try:
        owner = row.get("owner")
    except (msgspec.MsgspecError, ValueError):
        return ROOT
    return GroupPath(owner) if isinstance(owner, str) and owner.startswith(ROOT) else ROOT
