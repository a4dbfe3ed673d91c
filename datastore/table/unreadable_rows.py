"""Rows that this release cannot read as records, because they are damaged or of another release.

A list leaves them out and goes on; a read by id raises `errors.Unreadable`. Each such read is
counted and, once for each row, logged with the row's key.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import msgspec

from penstock.datastore.errors import Unreadable
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.table.port import Attributes, Key
from penstock.datastore.text import unescape

READ_ERRORS: Final = (
    msgspec.MsgspecError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""The errors by which a row differs from what its reader expects."""

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
_collected: ContextVar[dict[Key, UnreadableRow] | None] = ContextVar(
    "unreadable rows of the operation", default=None
)


def unreadable_reads() -> int:
    """The number of reads of unreadable rows since this process began."""
    return _journal.reads


@contextmanager
def collect_unreadable() -> Iterator[Mapping[Key, UnreadableRow]]:
    """Collect the rows that cannot be read within the block, the first 100 of them."""
    found: dict[Key, UnreadableRow] = {}
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def report_unreadable(row: Attributes, error: Exception) -> Unreadable:
    """Count and log a row that could not be read; return the error for who asked for it."""
    found = _describe(row, error)
    _journal.note(found)
    collected = _collected.get()
    if collected is not None and len(collected) < _MOST_NAMED:
        collected[found.key] = found
    return Unreadable()


def read_or_report(read: Callable[[Attributes], T], row: Attributes) -> T | Unreadable:
    """Read a row; the error in its place if it cannot be read."""
    try:
        return read(row)
    except Unreadable as error:
        return error
    except READ_ERRORS as error:
        return report_unreadable(row, error)


def read_all(read: Callable[[Attributes], T], rows: Iterable[Attributes]) -> list[T]:
    """Read the rows that can be read, in their order."""
    found = (read_or_report(read, row) for row in rows)
    return [one for one in found if not isinstance(one, Unreadable)]


def _describe(row: Attributes, error: Exception) -> UnreadableRow:
    key = Key(str(row.get("pk", "")), str(row.get("sk", "")))
    library = key.pk.removeprefix(_USER) if key.pk.startswith(_USER) else None
    return UnreadableRow(
        key,
        f"{type(error).__name__}: {error}",
        _owner_of(row),
        None if library is None else unescape(library),
    )


def _owner_of(row: Attributes) -> GroupPath:
    """The group that owns what is in the row, or else the root."""
    try:
        owner = row.get("owner")
    except READ_ERRORS:
        return ROOT
    return GroupPath(owner) if isinstance(owner, str) and owner.startswith(ROOT) else ROOT
