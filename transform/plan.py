"""What is done to each row, as a value that can be sent to another process or host.

The data of a plan: what each name in its formulas was found to mean, and nothing else.
"""

from collections.abc import Iterable, Mapping

import msgspec

from penstock.formula.checking.calculation_library import Callee, Found, Signature
from penstock.formula.core.datasets import NamedRows, Pin, Rows, unknown_dataset
from penstock.formula.core.values import ValueType


class Column(msgspec.Struct, frozen=True):
    """A declared input column; its heading in a file is the label, else the key."""

    key: str
    type: ValueType
    required: bool = False
    label: str | None = None


class Step(msgspec.Struct, frozen=True):
    """One formula and the output column it fills; later formulas read that by its `key`, if any."""

    formula: str
    name: str
    type: ValueType
    key: str | None = None


class Dataset(msgspec.Struct, frozen=True):
    """A dataset as a formula names it; `identity` is the id and version of what is meant.

    `within` is the identity of the calculation whose formula that is, None for the plan's own.
    """

    within: str | None
    name: str
    pin: Pin
    identity: str


class Plan(msgspec.Struct, frozen=True):
    """Columns in, formulas in their order, and all that these reach, as pinned."""

    columns: tuple[Column, ...]
    steps: tuple[Step, ...]
    calls: tuple[Found, ...] = ()
    datasets: tuple[Dataset, ...] = ()


class PinnedCalls:
    """A library that knows the calls of a plan, and nothing that was written since."""

    def __init__(self, calls: tuple[Found, ...]) -> None:
        self._known = {(call.within, call.callee): call.signature for call in calls}

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self._known.get((within, callee))


class PinnedDatasets(NamedRows):
    """Answers formulas from the rows of the datasets they name, which are given by identity.

    A name that a row makes up is known where a formula of the same resource has it written out.
    """

    def __init__(self, datasets: Iterable[Dataset], data: Mapping[str, Rows]) -> None:
        self._rows = {(one.within, one.name, one.pin): data[one.identity] for one in datasets}

    def named(self, name: str, pin: Pin, within: str | None) -> Rows:
        rows = self._rows.get((within, name, pin))
        if rows is None:
            raise unknown_dataset(name)
        return rows
