"""The functions of the language: one row each with arguments, result and cost."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from penstock.formula.core import numbers
from penstock.formula.core.values import ANY, SCALAR, SOMETHING, Value, ValueKind
from penstock.formula.functions import text, units
from penstock.formula.functions.date_parts import date_part, whole_units
from penstock.formula.functions.dates import as_timestamp
from penstock.formula.functions.json_path import get_value

NUMBER, TEXT, BOOLEAN = ValueKind.NUMBER, ValueKind.TEXT, ValueKind.BOOLEAN


class Slot(msgspec.Struct, frozen=True):
    """An argument or option of a function, and the kinds of value it accepts."""

    name: str
    kinds: ValueKind


class Function(msgspec.Struct, frozen=True):
    """A function of the language; its last `repeats` slots, or those of `more`, may follow again.

    `run` gets the meter first when `metered`, then the arguments, then each option, absent ones as
    None. Functions without `run` evaluate some of their arguments only, or read data.
    """

    name: str
    slots: tuple[Slot, ...]
    result: ValueKind
    run: Callable[..., Value] | None = None
    options: tuple[Slot, ...] = ()
    least: int | None = None
    repeats: int = 0
    more: tuple[Slot, ...] = ()
    few: tuple[Slot, ...] = ()
    metered: bool = False
    pinned: bool = False
    cost: int = 1

    def takes(self, count: int) -> bool:
        """Whether the function accepts this number of arguments."""
        if count == len(self.slots) or (self.few and count == len(self.few)):
            return True
        if further := self._further:
            beyond = count - len(self.slots)
            return beyond > 0 and beyond % len(further) == 0
        return self.least is not None and self.least <= count < len(self.slots)

    def slots_for(self, count: int) -> Sequence[Slot]:
        """Return the slot of each argument, for a number of arguments."""
        if self.few and count == len(self.few):
            return self.few
        beyond, further = max(0, count - len(self.slots)), self._further
        return (*self.slots, *(further * (beyond // max(1, len(further)))))[:count]

    @property
    def _further(self) -> tuple[Slot, ...]:
        return self.more or self.slots[len(self.slots) - self.repeats :]

    @property
    def signature(self) -> str:
        """The form of a call, as in `ROUND(number, [places])`."""
        least = len(self.slots) if self.least is None else self.least
        names = [s.name if i < least else f"[{s.name}]" for i, s in enumerate(self.slots)]
        names += [f"[{', '.join(slot.name for slot in self.more)}]"] if self.more else []
        names += ["..."] if self._further else []
        return f"{self.name}({', '.join([*names, *(f'{o.name}=' for o in self.options)])})"


def _slots(**kinds: ValueKind) -> tuple[Slot, ...]:
    return tuple(Slot(name, kind) for name, kind in kinds.items())


_LOOKUP: Final = _slots(value=SOMETHING, dataset=TEXT, keyColumn=TEXT, outputColumn=TEXT)
_CONVERT_OPTIONS: Final = _slots(qualityKind=TEXT, quantityKind=TEXT)
_DATE_OPTIONS: Final = _slots(timezone=TEXT, locale=TEXT, roundDownTo=TEXT)
PIN_OPTIONS: Final = ("version", "versionAsAt", "label", "group")

_ALL: Final = (
    Function("ABS", _slots(number=NUMBER), NUMBER, text.absolute),
    Function("AND", _slots(first=BOOLEAN, other=BOOLEAN), BOOLEAN, repeats=1),
    Function(
        "AS_TIMESTAMP",
        _slots(value=TEXT, pattern=TEXT),
        NUMBER,
        as_timestamp,
        _DATE_OPTIONS,
        metered=True,
        cost=20,
    ),
    Function("CEIL", _slots(number=NUMBER), NUMBER, text.ceiling),
    Function("COALESCE", _slots(first=ANY), ANY, repeats=1),
    Function("CONCAT", _slots(first=ANY), TEXT, text.concat, repeats=1, metered=True),
    Function(
        "CONTAINS",
        _slots(text=TEXT, needle=TEXT),
        BOOLEAN,
        text.contains,
        _slots(ignoreCase=BOOLEAN),
        metered=True,
    ),
    Function(
        "CONVERT",
        _slots(number=NUMBER, source=TEXT, target=TEXT),
        NUMBER,
        units.convert,
        _CONVERT_OPTIONS,
        metered=True,
        cost=2,
    ),
    Function(
        "DATEDIFF",
        _slots(start=NUMBER, end=NUMBER, unit=TEXT),
        NUMBER,
        whole_units,
        _slots(timezone=TEXT),
        metered=True,
        cost=5,
    ),
    Function(
        "DATEPART",
        _slots(moment=NUMBER, part=TEXT),
        NUMBER,
        date_part,
        _slots(timezone=TEXT),
        metered=True,
        cost=5,
    ),
    Function("FLOOR", _slots(number=NUMBER), NUMBER, text.floor),
    Function("GET_VALUE", _slots(json=TEXT, path=TEXT), ANY, get_value, metered=True, cost=5),
    Function("IF", _slots(condition=BOOLEAN, then=ANY, otherwise=ANY), ANY),
    Function("IFNULL", _slots(value=ANY, otherwise=ANY), ANY),
    Function("IMPACT", _slots(activity=TEXT, impact=TEXT, component=TEXT), NUMBER, pinned=True),
    Function("LEN", _slots(text=TEXT), NUMBER, text.length),
    Function("LOG", _slots(number=NUMBER, base=NUMBER), NUMBER, text.logarithm, least=1, cost=50),
    Function(
        "LOOKUP",
        _LOOKUP,
        SCALAR,
        more=_slots(value=SOMETHING, keyColumn=TEXT),
        few=_slots(dataset=TEXT, value=SOMETHING),
        pinned=True,
        cost=2,
    ),
    Function("LOWERCASE", _slots(text=TEXT), TEXT, text.lowercase, metered=True),
    Function("MAX", _slots(first=NUMBER), NUMBER, text.largest, repeats=1),
    Function("MIN", _slots(first=NUMBER), NUMBER, text.smallest, repeats=1),
    Function(
        "MOD",
        _slots(dividend=NUMBER, divisor=NUMBER),
        NUMBER,
        numbers.remainder,
        metered=True,
        cost=5,
    ),
    Function("NOT", _slots(condition=BOOLEAN), BOOLEAN, text.negation),
    Function("NUMBER", _slots(value=TEXT | NUMBER), NUMBER, text.number_of, metered=True),
    Function("OR", _slots(first=BOOLEAN, other=BOOLEAN), BOOLEAN, repeats=1),
    Function("REF", _slots(output=TEXT), SCALAR),
    Function(
        "REPLACE",
        _slots(text=TEXT, needle=TEXT, replacement=TEXT),
        TEXT,
        text.replace_all,
        metered=True,
    ),
    Function(
        "ROUND", _slots(number=NUMBER, places=NUMBER), NUMBER, text.round_number, least=1, cost=2
    ),
    Function(
        "SEARCH",
        _slots(text=TEXT, needle=TEXT),
        NUMBER,
        text.search,
        _slots(ignoreCase=BOOLEAN),
        metered=True,
    ),
    Function(
        "SPLIT",
        _slots(text=TEXT, regex=TEXT),
        ValueKind.LIST,
        text.split,
        _slots(limit=NUMBER),
        metered=True,
        cost=5,
    ),
    Function("SQRT", _slots(number=NUMBER), NUMBER, text.square_root, cost=5),
    Function(
        "SUBSTRING",
        _slots(text=TEXT, start=NUMBER, length=NUMBER),
        TEXT,
        text.substring,
        least=2,
        metered=True,
    ),
    Function(
        "SWITCH",
        _slots(value=SOMETHING, case=SCALAR, result=ANY),
        ANY,
        options=_slots(default=ANY, ignoreCase=BOOLEAN),
        repeats=2,
    ),
    Function("TRIM", _slots(text=TEXT), TEXT, text.trim, metered=True),
    Function("UPPERCASE", _slots(text=TEXT), TEXT, text.uppercase, metered=True),
)
FUNCTIONS: Final[Mapping[str, Function]] = {function.name: function for function in _ALL}

UNSUPPORTED: Final[Mapping[str, str]] = {
    "ASSIGN_TO_GROUP": "a formula answers a value and cannot move rows between groups",
    "CAML": "matching products by machine learning needs a service that Penstock does not have",
    "EMISSION_FACTOR": "it is called IMPACT(activity, impact, component)",
    "GET": "GET_VALUE(json, path) takes a value out of JSON, and REF('key') an earlier output",
}


def result_kind(
    function: Function, arguments: Sequence[ValueKind], options: Mapping[str, ValueKind]
) -> ValueKind:
    """Return the kinds of a call's result for the kinds of its arguments."""
    match function.name:
        case "IF":
            return arguments[1] | arguments[2]
        case "COALESCE" | "IFNULL":
            certain = any(ValueKind.NULL not in kind for kind in arguments)
            return _union(arguments) & (~ValueKind.NULL if certain else ANY)
        case "SWITCH":
            return _union(
                [*arguments[2::2], *([options["default"]] if "default" in options else [])]
            )
        case _:
            return function.result


def _union(kinds: Sequence[ValueKind]) -> ValueKind:
    union = ValueKind(0)
    for kind in kinds:
        union |= kind
    return union
