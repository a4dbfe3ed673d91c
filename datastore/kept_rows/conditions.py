"""Conditions on rows and the scope of a caller, as expressions of SQL with their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.kept_rows.columns import GROUP, KEY, TIME, number_columns, split_number
from penstock.datastore.kept_rows.database import quote_name
from penstock.datastore.kept_rows.records import RowValue
from penstock.datastore.records import ValueType
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.transform.timestamps import milliseconds_of

MAX_CONDITIONS: Final = 20
MAX_CHOICES: Final = 100


class Condition(NamedTuple):
    """An expression of SQL, and the values of its question marks."""

    sql: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCondition:
    """A condition on one output of a row; all that are given must hold."""

    output: str
    eq: RowValue = None
    any_of: tuple[RowValue, ...] | None = None
    gte: RowValue = None
    lt: RowValue = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """The rows that a caller asks for: of a group, within a time, with conditions on outputs.

    `start` is inclusive and `end` exclusive. `as_at` shows the rows as they were at a time.
    """

    group: GroupPath | None = None
    include_child_groups: bool = False
    start: datetime | None = None
    end: datetime | None = None
    where: tuple[RowCondition, ...] = ()
    as_at: datetime | None = field(default=None)


def scope_condition(caller: Caller, role: Role = Role.READER) -> Condition:
    """The rows whose group is one at which the caller has a role, or below such a group."""
    groups = [group for group, held in caller.roles.items() if held >= role]
    found = _any_of([_at_or_below(group) for group in groups])
    # A role nearer to a group counts instead of one further up.
    weaker = [group for group, held in caller.roles.items() if held < role]
    for group in weaker:
        inner = [one for one in groups if one != group and one.startswith(group.rstrip("/") + "/")]
        hidden = _at_or_below(group)
        shown = _any_of([_at_or_below(one) for one in inner])
        values = (*found.values, *hidden.values, *shown.values)
        found = Condition(f"({found.sql} AND (NOT {hidden.sql} OR {shown.sql}))", values)
    return found


def filter_conditions(
    wanted: RowFilter, types: Mapping[str, ValueType], *, has_time: bool
) -> list[Condition]:
    """The conditions of a filter; Invalid for outputs that rows do not have."""
    found: list[Condition] = []
    if wanted.group is not None:
        exact = Condition(f"{GROUP} = ?", (wanted.group,))
        found.append(_at_or_below(wanted.group) if wanted.include_child_groups else exact)
    if not has_time and (wanted.start or wanted.end):
        raise Invalid([FieldProblem(["from"], "the rows of this pipeline have no time")])
    if wanted.start is not None:
        found.append(Condition(f"{TIME} >= ?", (_utc(wanted.start),)))
    if wanted.end is not None:
        found.append(Condition(f"{TIME} < ?", (_utc(wanted.end),)))
    if len(wanted.where) > MAX_CONDITIONS:
        raise Invalid([FieldProblem(["where"], f"at most {MAX_CONDITIONS} are allowed")])
    for n, one in enumerate(wanted.where):
        found += _output_conditions(one, types, ["where", str(n)])
    return found


def join_conditions(conditions: Sequence[Condition]) -> Condition:
    """All of the conditions."""
    sql = " AND ".join(one.sql for one in conditions) or "true"
    return Condition(sql, tuple(value for one in conditions for value in one.values))


def digest_condition(digests: Sequence[str]) -> Condition:
    """The rows whose keys have these hashes."""
    return Condition(f"{KEY} IN ({', '.join('?' for _ in digests)})", tuple(digests))


def _any_of(conditions: Sequence[Condition]) -> Condition:
    sql = " OR ".join(one.sql for one in conditions)
    values = tuple(value for one in conditions for value in one.values)
    return Condition(f"({sql})" if sql else "false", values)


def _at_or_below(group: GroupPath) -> Condition:
    if group == ROOT:
        return Condition("true")
    return Condition(f"({GROUP} = ? OR starts_with({GROUP}, ?))", (group, f"{group}/"))


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(tzinfo=None)


def _output_conditions(
    wanted: RowCondition, types: Mapping[str, ValueType], path: list[str]
) -> list[Condition]:
    if wanted.output not in types:
        message = f"no row has the output {wanted.output[:128]!r}"
        raise Invalid([FieldProblem([*path, "output"], message)])
    type = types[wanted.output]
    found: list[Condition] = []
    for field_name, operator, value in (
        ("eq", "=", wanted.eq),
        ("gte", ">=", wanted.gte),
        ("lt", "<", wanted.lt),
    ):
        if value is not None:
            found.append(_comparison(wanted.output, type, operator, value, [*path, field_name]))
    if wanted.any_of is not None:
        if len(wanted.any_of) > MAX_CHOICES:
            message = f"at most {MAX_CHOICES} are allowed"
            raise Invalid([FieldProblem([*path, "in"], message)])
        choices = [
            _comparison(wanted.output, type, "=", value, [*path, "in", str(n)])
            for n, value in enumerate(wanted.any_of)
        ]
        found.append(_any_of(choices))
    return found


def _comparison(
    output: str, type: ValueType, operator: str, value: RowValue, path: list[str]
) -> Condition:
    if type is ValueType.TIMESTAMP and isinstance(value, str):
        value = _read_moment(value, path)
    if type in (ValueType.NUMBER, ValueType.TIMESTAMP):
        parts = split_number(value) if isinstance(value, Decimal) else None
        if parts is None:
            raise Invalid([FieldProblem(path, "must be a number of at most 37 whole digits")])
        return _number_comparison(number_columns(output).all, operator, parts)
    if type is ValueType.BOOLEAN:
        if not isinstance(value, bool) or operator != "=":
            raise Invalid([FieldProblem(path, "a truth value can only be equal to another one")])
        return Condition(f"{quote_name(output)} = ?", ("true" if value else "false",))
    if not isinstance(value, str):
        raise Invalid([FieldProblem(path, "must be a text")])
    return Condition(f"{quote_name(output)} {operator} ?", (value,))


def _read_moment(text: str, path: list[str]) -> Decimal:
    """Read a time as rows have it: both forms of timestamps are taken for all of them."""
    milliseconds = milliseconds_of(text)
    if milliseconds is None:
        raise Invalid([FieldProblem(path, "must be a time in ISO 8601, or epoch milliseconds")])
    return Decimal(milliseconds)


def _number_comparison(
    columns: Sequence[str], operator: str, parts: Sequence[Decimal]
) -> Condition:
    """Compare the parts of a number one after another: the first that differs decides."""
    mark = "CAST(? AS DECIMAL(38, 0))"
    *_, last = columns
    found = Condition(f"{last} {operator} {mark}", (str(parts[-1]),))
    for column, part in zip(reversed(columns[:-1]), reversed(parts[:-1]), strict=True):
        decided = "" if operator == "=" else f"{column} {operator[0]} {mark} OR "
        sql = f"({decided}({column} = {mark} AND {found.sql}))"
        given = (str(part),) * (1 if operator == "=" else 2)
        found = Condition(sql, (*given, *found.values))
    return found
