"""Reads the entries of a whole column at once: most are plain, and need no call of Python each.

What is not plain is read one by one, with the same values. An entry that cannot be read gives no
fault here: its row is processed again, step by step, to find its problems.
"""

from collections.abc import Callable, Sequence
from decimal import DecimalException
from typing import Final, NamedTuple

from penstock.formula.core.errors import Fault
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.numbers import EXACT
from penstock.formula.core.values import FormulaType, Value

PLAIN_LENGTH: Final = 80
"""The most characters of a number that is within all limits if it has only digits and a point."""

_FEW: Final = 16
"""The most numbers that are read one by one where one of them is not plain."""

_BOOLEANS: Final = {"true": True, "false": False}


class InputColumn(NamedTuple):
    """An input column: its type, the function that reads its entries, and its place in a row."""

    type: FormulaType
    read: Callable[[object], Value]
    place: int | None


class Unread:
    """Stands for the value of an entry that cannot be read."""


UNREAD: Final = Unread()


class ReadRows(NamedTuple):
    """The values of rows, column by column, and the places of the rows that cannot be read."""

    columns: Sequence[Sequence[Value | Unread]]
    unread: Sequence[int]


def read_columns(
    columns: Sequence[InputColumn], entries: Callable[[int], Sequence[str]], rows: int, longest: int
) -> ReadRows:
    """Read the columns of so many rows; `entries` gives those of a place in a row.

    None is longer than `longest`.
    """
    found: list[Sequence[Value | Unread]] = []
    unread: set[int] = set()
    for column in columns:
        values: Sequence[Value | Unread]
        if column.place is None:
            values, is_plain = [_read_one(column, None)] * rows, False
        else:
            values, is_plain = _read_column(column, entries(column.place), longest)
        if not is_plain:
            unread.update(place for place, value in enumerate(values) if value is UNREAD)
        found.append(values)
    return ReadRows(found, sorted(unread))


def _read_column(
    column: InputColumn, entries: Sequence[str], longest: int
) -> tuple[Sequence[Value | Unread], bool]:
    """Return the values of entries, and whether all of them are plain."""
    plain = _read_plain(column.type, entries, longest)
    return (plain, True) if plain is not None else (_read_others(column, entries), False)


def _read_plain(type: FormulaType, entries: Sequence[str], longest: int) -> Sequence[Value] | None:
    """Return the values of entries that are all plain; None if one is not."""
    match type:
        case FormulaType.NUMBER:
            return _read_plain_numbers(entries)
        case FormulaType.STRING:
            return entries if longest <= MAX_STRING else None
        case FormulaType.TIMESTAMP:
            return entries if longest <= MAX_STRING and "" not in entries else None
        case _:
            values = list(map(_BOOLEANS.get, entries))
            return None if None in values else values


def _read_plain_numbers(entries: Sequence[str]) -> Sequence[Value] | None:
    digits = "".join(entries).replace(".", "").replace("-", "")
    if not (digits.isdecimal() and digits.isascii() and max(map(len, entries)) <= PLAIN_LENGTH):
        return None
    try:
        return list(map(EXACT.create_decimal, entries))
    except DecimalException:
        return None


def _read_others(column: InputColumn, entries: Sequence[str]) -> Sequence[Value | Unread]:
    """Return the values of entries of which one is not plain."""
    if column.type is not FormulaType.NUMBER or len(entries) <= _FEW:
        return [_read_one(column, entry) for entry in entries]
    if "" in entries:
        blank = _read_one(column, "")
        given = iter(_read_numbers(column, [entry for entry in entries if entry]))
        return [next(given) if entry else blank for entry in entries]
    middle = len(entries) // 2
    halves = entries[:middle], entries[middle:]
    return [value for half in halves for value in _read_numbers(column, half)]


def _read_numbers(column: InputColumn, entries: Sequence[str]) -> Sequence[Value | Unread]:
    return _read_plain_numbers(entries) or _read_others(column, entries)


def _read_one(column: InputColumn, entry: str | None) -> Value | Unread:
    try:
        return column.read(entry)
    except Fault:
        return UNREAD
