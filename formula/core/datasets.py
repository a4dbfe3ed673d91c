"""The port through which LOOKUP and IMPACT read data, and implementations in memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Protocol

import msgspec

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.numbers import within_range
from penstock.formula.core.values import Scalar, text_of


class VersionPin(msgspec.Struct, frozen=True):
    """The version of a named resource that a call selects; all None is the latest and nearest."""

    version: int | None = None
    version_as_at: str | None = None
    group: str | None = None


LATEST = VersionPin()


class Datasets(Protocol):
    """Data by exact key. A missing row is None; an unknown dataset or column raises a Fault.

    Values are text, finite Decimal, bool or None. `within` is the identity of the calculation that
    contains the formula, whose groups decide which dataset a name means; None for the formula that
    is evaluated.
    """

    def lookup(
        self,
        dataset: str,
        key: str,
        columns: tuple[str, str] | None,
        pin: VersionPin,
        within: str | None = None,
    ) -> Scalar:
        """Return the output column of the first row whose key column is exactly `key`.

        `columns` is the pair key column, output column; None means the dataset's declared key
        column and its first value column.
        """
        ...

    def impact(
        self, activity: str, impact: str, component: str, pin: VersionPin, within: str | None = None
    ) -> Decimal | None:
        """Return an emission factor."""
        ...


def unknown_dataset(name: str) -> Fault:
    return Fault(FormulaCode.UNKNOWN_DATASET, f"there is no dataset {name[:60]!r}")


class DatasetRows:
    """A dataset in memory; its rows keep the order of the file."""

    def __init__(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[Scalar]],
        key_column: str | None = None,
    ) -> None:
        self._columns = tuple(columns)
        self._rows = tuple(tuple(row) for row in rows)
        self._declared = self._declared_pair(key_column)
        self._found: dict[tuple[str, str], dict[str, Scalar]] = {}

    def _declared_pair(self, key_column: str | None) -> tuple[str, str]:
        key = self._columns[0] if key_column is None else key_column
        return key, next((column for column in self._columns if column != key), key)

    def find(self, key: str, columns: tuple[str, str] | None) -> Scalar:
        """Return the value of the first row with this key; None if there is no such row."""
        pair = columns or self._declared
        index = self._found.get(pair)
        if index is None:
            index = self._found[pair] = self._index(*pair)
        return index.get(key)

    def factor(self, impact: str, component: str) -> Decimal | None:
        """Return the number in a column of the row with this key; None without row or column."""
        if component not in self._columns:
            return None
        found = self.find(impact, (self._declared[0], component))
        if found is not None and not isinstance(found, Decimal):
            message = f"the column {component[:60]!r} holds no numbers"
            raise Fault(FormulaCode.WRONG_TYPE, message)
        return found

    def _index(self, key_column: str, output_column: str) -> dict[str, Scalar]:
        for column in (key_column, output_column):
            if column not in self._columns:
                message = f"the dataset has no column {column[:60]!r}"
                raise Fault(FormulaCode.UNKNOWN_DATASET, message)
        key, output = self._columns.index(key_column), self._columns.index(output_column)
        rows = (row for row in reversed(self._rows) if row[key] is not None)
        return {text_of(row[key]): row[output] for row in rows}


class RowsByName(ABC):
    """Datasets whose names stand for rows in memory."""

    __slots__ = ()

    @abstractmethod
    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> DatasetRows:
        """Return the rows of a dataset; raises a Fault for an unknown one."""

    def lookup(
        self,
        dataset: str,
        key: str,
        columns: tuple[str, str] | None,
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

    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> DatasetRows:
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
        key: str,
        columns: tuple[str, str] | None,
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
