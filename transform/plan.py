"""The plan of a transform: columns, formulas, and the calculations and datasets they name.

A plan is plain data, so it can be sent to another process or host.
"""

from collections.abc import Iterable, Mapping

import msgspec

from penstock.formula.checking.calculation_library import Callee, Found, Signature
from penstock.formula.core.datasets import NamedRows, Pin, Rows, unknown_dataset
from penstock.formula.core.values import ValueType


class Column(msgspec.Struct, frozen=True):
    """A declared input column; its heading in a file is the label or else the key."""

    key: str
    type: ValueType
    required: bool = False
    label: str | None = None


class Step(msgspec.Struct, frozen=True):
    """One formula and its output column; later formulas read the output by `key`, if it has one."""

    formula: str
    name: str
    type: ValueType
    key: str | None = None


class Dataset(msgspec.Struct, frozen=True):
    """A dataset as a formula names it; `identity` is the id and version that the name resolves to.

    `within` is the identity of the calculation that contains the formula, None for the plan's own.
    """

    within: str | None
    name: str
    pin: Pin
    identity: str


class Plan(msgspec.Struct, frozen=True):
    """Input columns, formulas in order, and the pinned calculations and datasets they reach."""

    columns: tuple[Column, ...]
    steps: tuple[Step, ...]
    calls: tuple[Found, ...] = ()
    datasets: tuple[Dataset, ...] = ()


class PinnedCalls:
    """A library of the calls of a plan; it does not see later versions."""

    def __init__(self, calls: tuple[Found, ...]) -> None:
        self._known = {(call.within, call.callee): call.signature for call in calls}

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self._known.get((within, callee))


class PinnedDatasets(NamedRows):
    """Answers formulas from the rows of the datasets they name, given by identity.

    A name that a row computes is known only if a formula of the same resource contains it
    literally.
    """

    def __init__(self, datasets: Iterable[Dataset], data: Mapping[str, Rows]) -> None:
        self._rows = {(one.within, one.name, one.pin): data[one.identity] for one in datasets}

    def named(self, name: str, pin: Pin, within: str | None) -> Rows:
        rows = self._rows.get((within, name, pin))
        if rows is None:
            raise unknown_dataset(name)
        return rows
