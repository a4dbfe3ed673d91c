"""Totals of rows: exact sums, counts, limits and means by time and by outputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from penstock.datastore.errors import FieldProblem, IllegalState, Invalid
from penstock.datastore.kept_rows.columns import (
    GROUP,
    LIMBS,
    TIME,
    join_number,
    mean_of,
    number_columns,
)
from penstock.datastore.kept_rows.conditions import join_conditions
from penstock.datastore.kept_rows.database import Connection, quote_name, quote_text
from penstock.datastore.kept_rows.snapshot import RowSelection, Snapshot
from penstock.datastore.records import MeasureFunction
from penstock.datastore.roles import ROOT, GroupPath
from penstock.transform.timestamps import show_moment

MAX_MEASURES: Final = 20
MAX_BY: Final = 5


@cache
def time_zones() -> frozenset[str]:
    """The names of time zones that the engine knows: a machine may have more, such as its own."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text().split())


class Every(StrEnum):
    """The length of the times that totals are made of; a week begins on Monday."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Measure(msgspec.Struct, frozen=True):
    """A function of an output, under a name."""

    output: str
    function: MeasureFunction
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsRequest:
    """The totals that a caller asks for; `zone` is the name of a time zone.

    With `below` there are separate totals for the rows of this group and for each group directly
    below it, with all groups below that one.
    """

    every: Every | None = None
    zone: str = "UTC"
    below: GroupPath | None = None
    by: tuple[str, ...] = ()
    measures: tuple[Measure, ...]


class Total(msgspec.Struct, frozen=True):
    """The measures of the rows of one time and with the same values of outputs.

    `start` and `end` are None where all times are in one total, `group` where all groups are.
    `rows` is the number of rows.
    """

    start: datetime | None
    end: datetime | None
    by: dict[str, str | None]
    rows: int
    values: dict[str, Decimal | int | None]
    group: GroupPath | None = None


def check_request(wanted: TotalsRequest, snapshot: Snapshot) -> None:
    """Raise Invalid for outputs that rows do not have, and functions that they do not allow."""
    problems: list[FieldProblem] = []
    types = snapshot.types
    if not 1 <= len(wanted.measures) <= MAX_MEASURES:
        problems.append(FieldProblem(["measures"], f"must be 1 to {MAX_MEASURES}"))
    if len(wanted.by) > MAX_BY:
        problems.append(FieldProblem(["by"], f"at most {MAX_BY} are allowed"))
    if wanted.every is not None and not snapshot.has_time:
        problems.append(FieldProblem(["every"], "the rows of this pipeline have no time"))
    outputs = [(["by", str(n)], key) for n, key in enumerate(wanted.by)]
    for n, one in enumerate(wanted.measures):
        path = ["measures", str(n)]
        outputs.append(([*path, "output"], one.output))
        needs_number = one.function is not MeasureFunction.COUNT
        if one.output in types and needs_number and not snapshot.has_number(one.output):
            message = f"{one.output!r} is no number: it can only be counted"
            problems.append(FieldProblem([*path, "function"], message))
    problems += [
        FieldProblem(path, f"no row has the output {key[:128]!r}")
        for path, key in outputs
        if key not in types
    ]
    names = [one.name for one in wanted.measures]
    if len(set(names)) < len(names):
        problems.append(FieldProblem(["measures"], "two measures have the same name"))
    if problems:
        raise Invalid(problems)


def readable_measures(measures: Sequence[Measure], snapshot: Snapshot) -> tuple[Measure, ...]:
    """The measures of outputs that rows have; raises IllegalState for one that is no number."""
    found = tuple(one for one in measures if one.output in snapshot.types)
    for one in found:
        if one.function is not MeasureFunction.COUNT and not snapshot.has_number(one.output):
            raise IllegalState(f"{one.output!r} is no number in the rows.", "NO_NUMBER")
    return found


def select_totals(
    connection: Connection, selection: RowSelection, wanted: TotalsRequest, offset: int, limit: int
) -> list[Total]:
    """Select totals by time and outputs, from the one with a number on.

    Raises IllegalState where a number does not fit into an exact sum.
    """
    import duckdb  # noqa: PLC0415 - it comes with an extra

    where = join_conditions(selection.conditions)
    groups = [_bucket(wanted), _group_below(wanted), *map(quote_name, wanted.by)]
    selected = [*groups, "count(*)"]
    for one in wanted.measures:
        selected += _measure_columns(one)
    order = ", ".join(f"{n + 1} NULLS FIRST" for n in range(len(groups)))
    sql = (
        f"SELECT {', '.join(selected)} FROM {selection.snapshot.latest()} WHERE {where.sql} "
        f"GROUP BY {', '.join(str(n + 1) for n in range(len(groups)))} ORDER BY {order} "
        f"LIMIT {limit} OFFSET {offset}"
    )
    try:
        rows = connection.execute(sql, list(where.values)).fetchall()
    except duckdb.OutOfRangeException:
        raise _too_large_error(wanted.measures) from None
    times = [key for key in wanted.by if selection.snapshot.shows_times(key)]
    return [_total_of(wanted, row, times) for row in rows]


def count_totals(connection: Connection, selection: RowSelection, wanted: TotalsRequest) -> int:
    """Count the totals that there are."""
    where = join_conditions(selection.conditions)
    groups = [_bucket(wanted), _group_below(wanted), *map(quote_name, wanted.by)]
    sql = (
        f"SELECT count(*) FROM (SELECT 1 FROM {selection.snapshot.latest()} WHERE {where.sql} "
        f"GROUP BY {', '.join(groups)})"
    )
    found = connection.execute(sql, list(where.values)).fetchone()
    return int(found[0]) if found else 0


def _bucket(wanted: TotalsRequest) -> str:
    """The start of the time of a row: that of an hour in UTC, of all others by the local clock."""
    if wanted.every is None:
        return "CAST(NULL AS TIMESTAMP)"
    local = f"timezone({quote_text(wanted.zone)}, timezone('UTC', {TIME}))"
    start = f"date_trunc('{wanted.every.value}', {local})"
    return f"{TIME} - ({local} - {start})" if wanted.every is Every.HOUR else start


def _group_below(wanted: TotalsRequest) -> str:
    """The group of a row as far as totals tell them apart: the one above all, or one below it."""
    if wanted.below is None:
        return "CAST(NULL AS VARCHAR)"
    above = "" if wanted.below == ROOT else wanted.below
    rest = f"substr({GROUP}, {len(above) + 2})"
    own = quote_text(wanted.below)
    below = f"{quote_text(above + '/')} || split_part({rest}, '/', 1)"
    return f"CASE WHEN {GROUP} = {own} THEN {own} ELSE {below} END"


def _measure_columns(measure: Measure) -> list[str]:
    """The columns of a measure: how many values, how many of them do not fit, and the parts."""
    text, columns = quote_name(measure.output), number_columns(measure.output)
    if measure.function is MeasureFunction.COUNT:
        return [f"count({text})"]
    unfit = f"count({text}) - count({columns.whole})"
    match measure.function:
        case MeasureFunction.MIN | MeasureFunction.MAX:
            named = ", ".join(f"'p{n}': {column}" for n, column in enumerate(columns.all))
            filled = f"FILTER (WHERE {columns.whole} IS NOT NULL)"
            best = f"{measure.function.value}({{{named}}}) {filled}"
            parts = [f"({best})['p{n}']" for n in range(LIMBS + 1)]
        case _:
            parts = [f"sum({column})" for column in columns.all]
    return [f"count({text})", unfit, *parts]


def _total_of(wanted: TotalsRequest, row: tuple[Any, ...], times: Sequence[str]) -> Total:
    """The total of a row; the outputs `times` are shown as times."""
    start, group, *rest = row
    by = dict(zip(wanted.by, rest, strict=False))
    by |= {key: show_moment(by[key]) for key in times if by[key] is not None}
    rows, *cells = rest[len(wanted.by) :]
    values: dict[str, Decimal | int | None] = {}
    for one in wanted.measures:
        values[one.name], cells = _measure_value(one, cells)
    begins, ends = _limits(wanted, start)
    return Total(begins, ends, by, rows, values, group)


def _measure_value(measure: Measure, cells: list[Any]) -> tuple[Decimal | int | None, list[Any]]:
    count = cells[0]
    if measure.function is MeasureFunction.COUNT:
        return count, cells[1:]
    unfit, parts, rest = cells[1], cells[2 : 3 + LIMBS], cells[3 + LIMBS :]
    if unfit:
        raise _too_large_error([measure])
    if not count:
        return None, rest
    number = join_number(parts)
    if measure.function is MeasureFunction.AVG:
        number = mean_of(number, count)
    return number, rest


def _limits(wanted: TotalsRequest, start: datetime | None) -> tuple[datetime | None, ...]:
    if wanted.every is None or start is None:
        return None, None
    if wanted.every is Every.HOUR:
        begins = start.replace(tzinfo=UTC)
        return begins, begins + timedelta(hours=1)
    zone = ZoneInfo(wanted.zone)
    ends = _next_start(wanted.every, start)
    return start.replace(tzinfo=zone).astimezone(UTC), ends.replace(tzinfo=zone).astimezone(UTC)


def _next_start(every: Every, start: datetime) -> datetime:
    """The start of the next time by the local clock."""
    match every:
        case Every.DAY:
            return start + timedelta(days=1)
        case Every.WEEK:
            return start + timedelta(days=7)
        case _:
            months = {Every.MONTH: 1, Every.QUARTER: 3, Every.YEAR: 12}[every]
            later = start.month - 1 + months
            return start.replace(year=start.year + later // 12, month=later % 12 + 1)


def _too_large_error(measures: Sequence[Measure]) -> IllegalState:
    names = ", ".join(repr(one.output) for one in measures)
    return IllegalState(
        f"A value of {names} is no number, or has too many digits to be summed exactly.",
        "NUMBER_TOO_LONG",
    )
