"""The plan of a transform: columns, formulas, and the calculations and datasets they name.

A plan is plain data, so it can be sent to another process or host.
"""

from collections.abc import Iterable, Mapping

import msgspec

from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation, ResolvedCall
from penstock.formula.core.datasets import KeyedRows, RowsByName, VersionPin, unknown_dataset
from penstock.formula.core.values import FormulaType
from penstock.transform.row_identity import RowIdentity


class Column(msgspec.Struct, frozen=True):
    """A declared input column; its heading in a file is the label or else the key."""

    key: str
    type: FormulaType
    required: bool = False
    label: str | None = None


class FormulaStep(msgspec.Struct, frozen=True):
    """One formula and its output column; later formulas read the output by `key`, if it has one."""

    formula: str
    name: str
    type: FormulaType
    key: str | None = None


class PinnedDataset(msgspec.Struct, frozen=True):
    """A dataset as a formula names it; `identity` is the id and version that the name resolves to.

    `within` is the identity of the calculation that contains the formula, None for the plan's own.
    """

    within: str | None
    name: str
    pin: VersionPin
    identity: str


class DatasetSink(msgspec.Struct, frozen=True):
    """The dataset of which the output is the next version, and the outputs that are its keys.

    `owner` is the group that owns the dataset.
    """

    id: str
    key: tuple[str, ...]
    owner: str


class TransformPlan(msgspec.Struct, frozen=True):
    """Input columns, formulas in order, and the pinned calculations and datasets they reach.

    `rows` is the identity of the rows, if the pipeline keeps them; `sink` is the dataset that it
    writes, if there is one. A plan that `ignores_extra` takes inputs with columns that it does not
    name. With `iso_timestamps` the cells of timestamps are ISO 8601, without epoch milliseconds.
    """

    columns: tuple[Column, ...]
    steps: tuple[FormulaStep, ...]
    calls: tuple[ResolvedCall, ...] = ()
    datasets: tuple[PinnedDataset, ...] = ()
    rows: RowIdentity | None = None
    ignores_extra: bool = False
    sink: DatasetSink | None = None
    iso_timestamps: bool = False

    @property
    def only_writes_files(self) -> bool:
        """Whether nothing but files comes of it: no rows that are kept, and no dataset."""
        return self.rows is None and self.sink is None


class PinnedCalculations:
    """A library of the calls of a plan; it does not see later versions."""

    def __init__(self, calls: tuple[ResolvedCall, ...]) -> None:
        self._known = {(call.within, call.callee): call.signature for call in calls}

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        return self._known.get((within, callee))


class PinnedDatasets(RowsByName):
    """Answers formulas from the rows of the datasets they name, given by identity.

    A dataset name that is computed from a row works only if it also occurs as a literal in a
    formula of the same resource.
    """

    def __init__(self, datasets: Iterable[PinnedDataset], data: Mapping[str, KeyedRows]) -> None:
        self._rows = {(one.within, one.name, one.pin): data[one.identity] for one in datasets}

    def find_rows(self, name: str, pin: VersionPin, within: str | None) -> KeyedRows:
        rows = self._rows.get((within, name, pin))
        if rows is None:
            raise unknown_dataset(name)
        return rows
