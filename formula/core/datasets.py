"""The port through which LOOKUP and IMPACT read data, and implementations in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol, TypeAlias

import msgspec

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.numbers import within_range
from penstock.formula.core.values import Scalar, text_of


class VersionPin(msgspec.Struct, frozen=True):
    """The version of a named resource that a call selects; all None is the latest and nearest."""

    version: int | None = None
    version_as_at: str | None = None
    group: str | None = None
    label: str | None = None


LATEST = VersionPin()

RowKey: TypeAlias = str | tuple[str, ...]
"""The text of the value in a key column, or of the values in several."""


class Datasets(Protocol):
    """Data by exact key. A missing row is None; an unknown dataset or column raises a Fault.

    Values are text, finite Decimal, bool or None. `within` is the identity of the calculation that
    contains the formula, whose groups decide which dataset a name means; None for the formula that
    is evaluated.
    """

    def lookup(
        self,
        dataset: str,
        key: RowKey,
        columns: tuple[str, ...] | None,
        pin: VersionPin,
        within: str | None = None,
    ) -> Scalar:
        """Return the output column of the first row whose key columns are exactly `key`.

        `columns` are the key columns, as many as `key` has texts, and the output column. None means
        the dataset's declared key column and its first value column.
        """
        ...

    def impact(
        self, activity: str, impact: str, component: str, pin: VersionPin, within: str | None = None
    ) -> Decimal | None:
        """Return an emission factor."""
        ...


def unknown_dataset(name: str) -> Fault:
    return Fault(FormulaCode.UNKNOWN_DATASET, f"there is no dataset {name[:60]!r}")


class KeyedRows(ABC):
    """The rows of a dataset in the order of its file, found by a column or by all key columns."""

    def __init__(self, columns: Sequence[str], keys: Sequence[str]) -> None:
        self._places = {column: place for place, column in reversed([*enumerate(columns)])}
        self._keys = tuple(keys)
        self._value = next((column for column in columns if column not in keys), keys[0])

    @abstractmethod
    def _read(self, named: RowKey, key: RowKey, column: str) -> Scalar:
        """Return a value of the first row with this key in the named columns; None without a row.

        Raises a Fault for an unknown column. Several columns are all key columns, in their order.
        """

    def find(self, key: RowKey, columns: tuple[str, ...] | None) -> Scalar:
        """Return the value of the first row with this key; None if there is no such row."""
        if columns is None:
            columns = (self._only_key(), self._value)
        named: RowKey = columns[0] if len(columns) == 2 else columns[:-1]
        if isinstance(named, tuple) and named != self._keys:
            return self.find(*self._reorder(key, columns))
        return self._read(named, key, columns[-1])

    def factor(self, impact: str, component: str) -> Decimal | None:
        """Return the number in a column of the row with this key; None without row or column.

        Raises a Fault for a field that is empty or no number.
        """
        if component not in self._places:
            return None
        key = self._only_key()
        found = self.find(impact, (key, component))
        if found is None and self.find(impact, (key, key)) is not None:
            message = f"the emission factor for {impact[:60]!r}, {component[:60]!r} is empty"
            raise Fault(FormulaCode.IMPACT_NOT_FOUND, message)
        if found is not None and not isinstance(found, Decimal):
            message = f"the column {component[:60]!r} holds no numbers"
            raise Fault(FormulaCode.WRONG_TYPE, message)
        return found

    def _only_key(self) -> str:
        if len(self._keys) > 1:
            raise self._keys_fault()
        return self._keys[0]

    def _reorder(
        self, key: RowKey, columns: tuple[str, ...]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Put the columns and texts of a key into the order in which the dataset declares them."""
        given = dict(zip(columns[:-1], key, strict=True))
        if len(given) < len(key) or given.keys() != {*self._keys}:
            raise self._keys_fault()
        return tuple(given[column] for column in self._keys), (*self._keys, columns[-1])

    def _keys_fault(self) -> Fault:
        message = "rows of the dataset are found by one column"
        if len(self._keys) > 1:
            names = ", ".join(repr(column[:60]) for column in self._keys)
            message += f", or by {names} together: name the columns"
        return Fault(FormulaCode.UNKNOWN_DATASET, message)

    def _place(self, column: str) -> int:
        place = self._places.get(column)
        if place is None:
            message = f"the dataset has no column {column[:60]!r}"
            raise Fault(FormulaCode.UNKNOWN_DATASET, message)
        return place


class DatasetRows(KeyedRows):
    """A dataset in memory.

    There is an index of each column that a lookup names as its key, and one of all key columns.
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Scalar]],
        key_column: str | None = None,
        more_keys: Sequence[str] = (),
    ) -> None:
        first = columns[0] if key_column is None else key_column
        super().__init__(columns, (first, *more_keys))
        self._rows = tuple(tuple(row) for row in rows)
        self._found: dict[RowKey, dict[RowKey, tuple[Scalar, ...]]] = {}

    def _read(self, named: RowKey, key: RowKey, column: str) -> Scalar:
        index = self._found.get(named)
        if index is None:
            index = self._found[named] = self._index(named)
        place = self._place(column)
        row = index.get(key)
        return None if row is None else row[place]

    def _index(self, named: RowKey) -> dict[RowKey, tuple[Scalar, ...]]:
        if isinstance(named, str):
            place = self._place(named)
            rows = (row for row in reversed(self._rows) if row[place] is not None)
            return {text_of(row[place]): row for row in rows}
        places = [self._place(column) for column in named]
        keys = ((tuple(map(row.__getitem__, places)), row) for row in reversed(self._rows))
        return {tuple(map(text_of, key)): row for key, row in keys if None not in key}


class RowsByName(ABC):
    """Datasets whose names stand for their rows."""

    __slots__ = ()

    @abstractmethod
    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> KeyedRows:
        """Return the rows of a dataset; raises a Fault for an unknown one."""

    def lookup(
        self,
        dataset: str,
        key: RowKey,
        columns: tuple[str, ...] | None,
        pin: VersionPin,
        within: str | None = None,
    ) -> Scalar:
        return self.find_rows(dataset, pin, within).find(key, columns)

    def impact(
        self, activity: str, impact: str, component: str, pin: VersionPin, within: str | None = None
    ) -> Decimal | None:
        return self.find_rows(activity, pin, within).factor(impact, component)


class NoDatasets(RowsByName):
    """A port without data: every dataset is unknown."""

    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> KeyedRows:
        raise unknown_dataset(name)


class InMemoryDatasets:
    """Datasets by (name, pin) and emission factors by (activity, pin) and (impact, component)."""

    def __init__(
        self,
        datasets: Mapping[tuple[str, VersionPin], DatasetRows] | None = None,
        impacts: Mapping[tuple[str, VersionPin], Mapping[tuple[str, str], Decimal]] | None = None,
    ) -> None:
        self._datasets = dict(datasets or {})
        self._impacts = {name: dict(factors) for name, factors in (impacts or {}).items()}
        for factors in self._impacts.values():
            for factor in factors.values():
                if not within_range(factor):
                    raise ValueError(f"not an emission factor: {factor}")

    def lookup(
        self,
        dataset: str,
        key: RowKey,
        columns: tuple[str, ...] | None,
        pin: VersionPin,
        within: str | None = None,
    ) -> Scalar:
        rows = self._datasets.get((dataset, pin))
        if rows is None:
            raise unknown_dataset(dataset)
        return rows.find(key, columns)

    def impact(
        self, activity: str, impact: str, component: str, pin: VersionPin, within: str | None = None
    ) -> Decimal | None:
        factors = self._impacts.get((activity, pin))
        if factors is None:
            raise unknown_dataset(activity)
        return factors.get((impact, component))
