"""What is done to each row, as a value that can be sent to another process or host."""

import msgspec

from penstock.formula.calls import Callee, Found, Signature
from penstock.formula.datasets import Pin
from penstock.formula.values import ValueType


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
