"""Queries of single rows by the hashes of their keys, and the rows that queries give."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.kept_rows.columns import EXECUTION, GROUP, KEY, ROW, TIME, VERSION
from penstock.datastore.kept_rows.conditions import digest_condition, join_conditions
from penstock.datastore.kept_rows.database import Connection, quote_name
from penstock.datastore.kept_rows.records import KeptRow, RowsPart, RowValue
from penstock.datastore.kept_rows.snapshot import COMMIT, WITHDRAWN, RowSelection, Snapshot
from penstock.datastore.records import TimestampForm, ValueType
from penstock.transform.timestamps import show_moment

MAX_VERSIONS: Final = 200
"""The latest versions of a row that can be listed."""

FETCHED_ROWS: Final = 20
MAX_CHARACTERS: Final = 32 * 1024 * 1024
"""Characters of the rows that one query returns; an answer may have half as many bytes."""

_SYSTEM: Final = (KEY, ROW, TIME, GROUP, EXECUTION, VERSION, COMMIT, WITHDRAWN)


def select_versions(
    connection: Connection, selection: RowSelection, digests: Sequence[str]
) -> list[KeptRow]:
    """Select the latest versions of rows with these hashes, newest first for each.

    A withdrawal of a version that has left is left out: its execution is gone.
    """
    snapshot = selection.snapshot
    where = join_conditions([digest_condition(digests), *selection.conditions])
    sql = (
        f"SELECT {columns_of(snapshot)} FROM {snapshot.all_versions()} WHERE {where.sql} "
        f"QUALIFY row_number() OVER (PARTITION BY {KEY} ORDER BY {COMMIT} DESC) <= {MAX_VERSIONS} "
        f"ORDER BY {KEY}, {COMMIT} DESC"
    )
    made = {part.execution for part in snapshot.parts}
    return [
        row
        for row in read_selected(connection, selection, sql, where.values)
        if row.execution_id in made
    ]


def select_standing(
    connection: Connection, selection: RowSelection, digests: Sequence[str]
) -> list[KeptRow]:
    """Select the rows that stand with these hashes."""
    snapshot = selection.snapshot
    where = join_conditions([digest_condition(digests), *selection.conditions])
    sql = f"SELECT {columns_of(snapshot)} FROM {snapshot.latest()} WHERE {where.sql}"
    return read_selected(connection, selection, sql, where.values)


def columns_of(snapshot: Snapshot) -> str:
    """The columns of which a row is made."""
    return ", ".join([*_SYSTEM, *map(quote_name, snapshot.types)])


def read_selected(
    connection: Connection, selection: RowSelection, sql: str, values: Sequence[Any]
) -> list[KeptRow]:
    """Run a query of these columns; make rows of its answer."""
    snapshot = selection.snapshot
    parts = {one.commit: one for one in snapshot.parts}
    made_by: dict[str | None, RowsPart] = {one.execution: one for one in snapshot.parts}
    names = list(snapshot.types)
    connection.execute(sql, list(values))
    return [
        _row_of(selection.pipeline, names, parts[row[6]], made_by, row)
        for row in _fetch_bounded(connection)
    ]


def _fetch_bounded(connection: Connection) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query; raises LimitExceeded for more text than any answer holds."""
    size = 0
    while rows := connection.fetchmany(FETCHED_ROWS):
        for row in rows:
            size += sum(len(cell) for cell in row if isinstance(cell, str))
            yield row
        if size > MAX_CHARACTERS:
            raise LimitExceeded("characters of the rows of a page", MAX_CHARACTERS, size)


def _row_of(
    pipeline: str,
    names: Sequence[str],
    part: RowsPart,
    made_by: Mapping[str | None, RowsPart],
    row: tuple[Any, ...],
) -> KeptRow:
    digest, number, time, group, execution, version, commit, withdrawn, *cells = row
    texts = dict(zip(names, cells, strict=True))
    made = made_by.get(execution, part)
    values = {key: _value_of(made, type, texts.get(key)) for key, type in made.types.items()}
    return KeptRow(
        pipeline_id=pipeline,
        key=tuple(_key_text(values.get(key), texts.get(key)) for key in part.key),
        digest=digest,
        values=values,
        time=_instant(time),
        group=group,
        execution_id=execution,
        pipeline_version=version,
        number=number,
        commit=commit,
        at=part.at,
        withdrawn=withdrawn,
        reason=part.reason,
    )


def _value_of(made: RowsPart, type: ValueType, text: str | None) -> RowValue:
    """The value of a text in a file, as the execution that made it wrote it."""
    match type:
        case _ if text is None:
            return None
        case ValueType.TIMESTAMP if made.timestamps is TimestampForm.ISO_8601:
            return show_moment(text)
        case ValueType.NUMBER | ValueType.TIMESTAMP:
            return Decimal(text)
        case ValueType.BOOLEAN:
            return text == "true"
        case _:
            return text


def _key_text(value: RowValue, text: str | None) -> str:
    return value if isinstance(value, str) else str(text)


def _instant(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=UTC)
