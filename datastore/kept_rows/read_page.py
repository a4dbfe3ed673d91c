"""The query of a page of the rows that stand, in the order of their keys.

Which version of a row stands can be told only of all its versions. To tell it of all rows costs far
more than to order them by the first output of their keys. So a page reads how far the next versions
reach in it, and then all versions of the rows up to there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock.datastore.kept_rows.columns import KEY, ROW
from penstock.datastore.kept_rows.conditions import Condition, join_conditions
from penstock.datastore.kept_rows.engine import Connection, quote_name
from penstock.datastore.kept_rows.read_rows import columns_of, read_selected
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.kept_rows.snapshot import COMMIT, RowSelection, Snapshot, order_of_keys
from penstock.datastore.table.pages import Window

SPARE: Final = 4
"""The versions that are looked at for each row of a page: a row may have several."""

ALWAYS: Final = Condition("true")


class PagePlace(NamedTuple):
    """The version of a row behind which a page begins: its commit and its number in that.

    Cursors of earlier releases have the hash of the row only.
    """

    digest: str
    version: tuple[int, int] | None = None

    @classmethod
    def of(cls, row: KeptRow) -> "PagePlace":
        return cls(row.digest, (row.commit, row.number))

    @classmethod
    def parse(cls, text: str) -> "PagePlace":
        digest, *numbers = text.split(_APART)
        if len(numbers) != len(("commit", "number")) or not all(map(str.isdecimal, numbers)):
            return cls(digest)
        return cls(digest, (int(numbers[0]), int(numbers[1])))

    def __str__(self) -> str:
        return _APART.join((self.digest, *map(str, self.version or ())))


_APART: Final = "x"
"""It stands in no hash, and a cursor takes letters and digits only."""


class _Near(NamedTuple):
    """The rows up to which a page looks, and whether there are others behind them."""

    limit: Condition
    has_more: bool


def select_page(
    connection: Connection, selection: RowSelection, after: str | None, window: Window
) -> list[KeptRow]:
    """Select rows that stand, by their keys, from behind a row on.

    One more than the page holds, if there is one.
    """
    query = _PageQuery(connection, selection, window.size + 1, window.backward)
    place = None if after is None else query.find_place(PagePlace.parse(after))
    if after is not None and place is None:
        return []
    first = _first_output(selection.snapshot)
    if first is None:
        return query.select_all(place)
    near = query.look_ahead(first, place)
    rows = query.select_near(near.limit, place)
    if len(rows) == query.count or not near.has_more:
        return rows
    # Most of what comes next was corrected often, was withdrawn, or is not wanted as it stands.
    return query.select_all(place)


def _first_output(snapshot: Snapshot) -> str | None:
    """The expression by which rows are ordered first, if it is the same for all versions of a row.

    It is not where the key of the rows has changed, or the type of its first output.
    """
    keys = {one.key for one in snapshot.parts}
    if len(keys) > 1:
        return None
    first = next(iter(keys))[0]
    if len({one.types.get(first) for one in snapshot.parts}) > 1:
        return None
    # A text in a key is never null; bare, its column is skipped where it lies outside the bounds.
    return order_of_keys(snapshot)[0] if snapshot.has_number(first) else quote_name(first)


def _has_one_order(snapshot: Snapshot) -> bool:
    """Whether the keys of all versions are of the same outputs and types, and so of columns."""
    return len({(one.key, *(one.types.get(key) for key in one.key)) for one in snapshot.parts}) == 1


@dataclass(frozen=True, slots=True)
class _PageQuery:
    """The query of so many rows that stand, in the order of their keys."""

    connection: Connection
    selection: RowSelection
    count: int
    backward: bool

    @property
    def order(self) -> list[str]:
        return order_of_keys(self.selection.snapshot)

    def find_place(self, row: PagePlace) -> tuple[Any, ...] | None:
        """Find the place of a row in the order, if it stands."""
        snapshot = self.selection.snapshot
        found = self._find_version(row)
        if found is None:
            sql = f"SELECT {', '.join(self.order)} FROM {snapshot.latest_where(f'{KEY} = ?')}"
            found = self.connection.execute(sql, [row.digest]).fetchone()
        return found

    def _find_version(self, row: PagePlace) -> tuple[Any, ...] | None:
        """Find the place in the file of the version that a page of this snapshot ended with.

        That reads a part of one file, in place of the hashes of all rows.
        """
        snapshot = self.selection.snapshot
        if row.version is None or not _has_one_order(snapshot):
            return None
        commit, number = row.version
        file = snapshot.file_of(commit)
        if file is None:
            return None
        sql = (
            f"SELECT {', '.join(self.order)} FROM {file.all_versions()} "
            f"WHERE {KEY} = ? AND {ROW} = ? AND {COMMIT} = ?"
        )
        found: tuple[Any, ...] | None = self.connection.execute(
            sql, [row.digest, number, commit]
        ).fetchone()
        return found

    def look_ahead(self, first: str, place: Sequence[Any] | None) -> _Near:
        """Find how far the next versions reach, of those that are as wanted."""
        side = "<=" if self.backward else ">="
        begin = ALWAYS if place is None else Condition(f"{first} {side} ?", (place[0],))
        where = join_conditions([*self.selection.conditions, begin])
        direction, furthest = ("DESC", "min") if self.backward else ("ASC", "max")
        most = SPARE * self.count
        sql = (
            f"SELECT count(*), {furthest}(_first) FROM (SELECT {first} AS _first "
            f"FROM {self.selection.snapshot.all_versions()} WHERE {where.sql} "
            f"ORDER BY {first} {direction} LIMIT {most})"
        )
        found, end = self.connection.execute(sql, list(where.values)).fetchone() or (0, None)
        if found < most:
            return _Near(begin, has_more=False)
        until = Condition(f"{first} {'>=' if self.backward else '<='} ?", (end,))
        return _Near(join_conditions([begin, until]), has_more=True)

    def select_near(self, limit: Condition, place: Sequence[Any] | None) -> list[KeptRow]:
        """Select rows that stand, of those within a limit that holds for all versions of a row."""
        return self._select(self.selection.snapshot.latest_where(limit.sql), limit.values, place)

    def select_all(self, place: Sequence[Any] | None) -> list[KeptRow]:
        """Select rows that stand, of all."""
        return self._select(self.selection.snapshot.latest(), (), place)

    def _select(
        self, relation: str, values: Sequence[Any], place: Sequence[Any] | None
    ) -> list[KeptRow]:
        limits, order = list(self.selection.conditions), self.order
        if place is not None:
            marks = ", ".join("?" for _ in place)
            side = "<" if self.backward else ">"
            limits.append(Condition(f"row({', '.join(order)}) {side} row({marks})", (*place,)))
        where = join_conditions(limits)
        direction = " DESC" if self.backward else ""
        sql = (
            f"SELECT {columns_of(self.selection.snapshot)} FROM {relation} WHERE {where.sql} "
            f"ORDER BY {', '.join(one + direction for one in order)} LIMIT {self.count}"
        )
        return read_selected(self.connection, self.selection, sql, [*values, *where.values])
