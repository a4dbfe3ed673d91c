"""The query of a page of the rows that stand, in the order of their keys.

Which version of a row stands can be told only of all its versions. To tell it of all rows costs far
more than to order them by the outputs of their keys. So a page takes the keys of the next versions
that are as wanted, finds the newest version of each, and reads these rows. Where they are too few,
it goes on behind them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock.datastore.kept_rows.columns import KEY, ROW
from penstock.datastore.kept_rows.conditions import Condition, join_conditions
from penstock.datastore.kept_rows.database import Connection, quote_name
from penstock.datastore.kept_rows.read_rows import columns_of, read_selected
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.kept_rows.snapshot import (
    COMMIT,
    WITHDRAWN,
    RowSelection,
    Snapshot,
    order_of_keys,
)
from penstock.datastore.table.pages import Window

SPARE: Final = 4
"""The versions that are looked at for each row of a page: a row may have several."""

FURTHER: Final = 16
"""How many times as many are looked at where those were too few, before all rows are."""


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
    """The keys of the next versions, the place of the last, and whether there are others behind."""

    keys: Sequence[tuple[str, ...]]
    end: tuple[Any, ...]
    has_more: bool


def select_page(
    connection: Connection, selection: RowSelection, after: str | None, window: Window
) -> list[KeptRow]:
    """Select rows that stand, by their keys, from behind a row on.

    One more than the page holds, if there is one.
    """
    order = order_of_keys(selection.snapshot)
    query = _PageQuery(connection, selection, order, window.size + 1, window.backward)
    place = None if after is None else query.find_place(PagePlace.parse(after))
    if after is not None and place is None:
        return []
    if not _has_one_order(selection.snapshot):
        return query.select_all(place)
    # The outputs of the key tell the place; its hash would only be read beside them.
    return query.select_stepwise(None if place is None else place[:-1])


def _has_one_order(snapshot: Snapshot) -> bool:
    """Whether the keys of all versions are of the same outputs and types, and so of columns."""
    return len({(one.key, *(one.types.get(key) for key in one.key)) for one in snapshot.parts}) == 1


@dataclass(frozen=True, slots=True)
class _PageQuery:
    """The query of so many rows that stand, in the order of their keys."""

    connection: Connection
    selection: RowSelection
    order: Sequence[str]
    count: int
    backward: bool

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

    def select_stepwise(self, place: Sequence[Any] | None) -> list[KeptRow]:
        """Select rows that stand, from the next few versions, then from more, then from all."""
        found: list[KeptRow] = []
        for spare in (SPARE, SPARE * FURTHER):
            near = self.look_ahead(place, spare * self.count)
            found += self.select_near(near, place)
            if len(found) >= self.count or not near.has_more:
                return found[: self.count]
            # Most of these were corrected often, were withdrawn, or are not wanted as they stand.
            place = near.end
        return [*found, *self.select_all(place)][: self.count]

    def look_ahead(self, place: Sequence[Any] | None, most: int) -> _Near:
        """Find the keys of the next versions, at most so many, of those that are as wanted."""
        where = join_conditions([*self.selection.conditions, *self._behind(place)])
        names, order = self._key_columns, self.order[:-1]
        sql = (
            f"SELECT {', '.join([*names, *order])} FROM {self.selection.snapshot.all_versions()} "
            f"WHERE {where.sql} ORDER BY {self._direct_order(order)} LIMIT {most}"
        )
        rows = self.connection.execute(sql, list(where.values)).fetchall()
        keys = dict.fromkeys(row[: len(names)] for row in rows)
        end = rows[-1][len(names) :] if rows else ()
        return _Near(list(keys), end, has_more=len(rows) == most)

    def select_near(self, near: _Near, place: Sequence[Any] | None) -> list[KeptRow]:
        """Select rows that stand, of those with these keys."""
        versions = self._find_newest(near, place) if near.keys else []
        if not versions:
            return []
        chosen = join_conditions([self._limits(near)[0], _versions_condition(versions)])
        relation = f"(SELECT * FROM {self.selection.snapshot.all_versions()} WHERE {chosen.sql})"
        return self._select(relation, chosen.values, None)

    def _find_newest(self, near: _Near, place: Sequence[Any] | None) -> list[tuple[int, int]]:
        """Find the commit and the number of the newest version of each key, if it stands."""
        order = self.order[:-1]
        until = _compare(order, ">" if self.backward else "<", "=", near.end)
        where = join_conditions([*self._limits(near), *until, *self._behind(place)])
        sql = (
            f"SELECT max({COMMIT}), arg_max({ROW}, {COMMIT}) "
            f"FROM {self.selection.snapshot.all_versions()} WHERE {where.sql} "
            f"GROUP BY {', '.join(self._key_columns)} HAVING NOT arg_max({WITHDRAWN}, {COMMIT})"
        )
        return self.connection.execute(sql, list(where.values)).fetchall()

    def select_all(self, place: Sequence[Any] | None) -> list[KeptRow]:
        """Select rows that stand, of all."""
        return self._select(self.selection.snapshot.latest(), (), place)

    def _select(
        self, relation: str, values: Sequence[Any], place: Sequence[Any] | None
    ) -> list[KeptRow]:
        where = join_conditions([*self.selection.conditions, *self._behind(place)])
        sql = (
            f"SELECT {columns_of(self.selection.snapshot)} FROM {relation} WHERE {where.sql} "
            f"ORDER BY {self._direct_order(self.order)} LIMIT {self.count}"
        )
        return read_selected(self.connection, self.selection, sql, [*values, *where.values])

    def _limits(self, near: _Near) -> list[Condition]:
        """The rows with the outputs of these keys, for each output of a key."""
        columns = zip(self._key_columns, zip(*near.keys, strict=True), strict=True)
        return [_one_of(name, values) for name, values in columns]

    @property
    def _key_columns(self) -> list[str]:
        return [quote_name(key) for key in self.selection.snapshot.parts[-1].key]

    def _behind(self, place: Sequence[Any] | None) -> list[Condition]:
        """The rows behind a place, which may lack the last expressions of the order."""
        if place is None:
            return []
        return _compare(self.order[: len(place)], "<" if self.backward else ">", "", place)

    def _direct_order(self, order: Sequence[str]) -> str:
        return ", ".join(one + (" DESC" if self.backward else "") for one in order)


def _one_of(name: str, values: Sequence[Any]) -> Condition:
    """The rows with one of these values, and the limits by which parts of a file are skipped."""
    chosen = sorted(set(values))
    marks = ", ".join("?" for _ in chosen)
    limits = (chosen[0], chosen[-1])
    return Condition(f"{name} IN ({marks}) AND {name} BETWEEN ? AND ?", (*chosen, *limits))


def _versions_condition(versions: Sequence[tuple[int, int]]) -> Condition:
    """The versions with these numbers in these commits."""
    numbers: dict[int, list[int]] = {}
    for commit, number in versions:
        numbers.setdefault(commit, []).append(number)
    found = []
    for commit, within in numbers.items():
        marks = ", ".join("?" for _ in within)
        found.append(Condition(f"({COMMIT} = ? AND {ROW} IN ({marks}))", (commit, *within)))
    sql = " OR ".join(one.sql for one in found)
    return Condition(f"({sql})", tuple(value for one in found for value in one.values))


def _compare(order: Sequence[str], side: str, last: str, place: Sequence[Any]) -> list[Condition]:
    """The rows on a side of a place in an order; at it as well where `last` is `=`."""
    *before, end = zip(order, place, strict=True)
    found = Condition(f"{end[0]} {side}{last} ?", (end[1],))
    for one, value in reversed(before):
        # Most rows are told by the first that differs: to compare all of them at once costs more.
        sql = f"({one} {side} ? OR ({one} = ? AND {found.sql}))"
        found = Condition(sql, (value, value, *found.values))
    # By itself the first tells where parts of a file can be skipped.
    return [Condition(f"{order[0]} {side}= ?", (place[0],)), found]
