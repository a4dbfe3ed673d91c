"""What is done to each row, as a value that can be sent to another process or host."""

import msgspec

from formula.calls import Callee, Found, Signature
from formula.values import ValueType


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


class Plan(msgspec.Struct, frozen=True):
    """Columns in, formulas in their order, and every calculation that these reach, as pinned."""

    columns: tuple[Column, ...]
    steps: tuple[Step, ...]
    calls: tuple[Found, ...] = ()


class PinnedCalls:
    """A library that knows the calls of a plan, and nothing that was written since."""

    def __init__(self, calls: tuple[Found, ...]) -> None:
        self._known = {(call.within, call.callee): call.signature for call in calls}

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self._known.get((within, callee))
