"""GET_VALUE: the part of a JSON text at a path.

Paths: `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[*]`, `.*` and `..name`. Filters, slices and
scripts are refused. Numbers keep every digit; an object, or a list within a list, is JSON text.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, NoReturn, cast

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import KEPT_PATTERNS, MAX_JSON_DEPTH, MAX_PATTERN, WorkMeter
from penstock.formula.core.numbers import number_text, read_number
from penstock.formula.core.remembered import remember
from penstock.formula.core.values import Scalar, Value, check_length, join_texts

_STEP: Final = re.compile(
    r"""(?P<deep>\.\.)?(?:(?<=\.\.)|\.)(?P<name>[\w-]+)
      | \.(?P<all>\*) | \[(?P<every>\*)\] | \[(?P<index>-?\d{1,6})\]
      | \['(?P<quoted>[^'\\]*)'\]""",
    re.VERBOSE,
)
_MARKS: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PARSE_COST: Final = 10  # parsing a character of JSON costs about 10 units
_READ_COST: Final = 50  # reading a character of a path, once for many texts
_PART_COST: Final = 60  # visiting an element or a member
_WRITE_COST: Final = 20  # writing a character of JSON


class _EveryStep:
    """The step to all elements of a list or members of an object."""


class _DeepStep(str):
    """The step to members with this name, at any depth."""

    __slots__ = ()


PathStep = str | int | _EveryStep
_EVERY: Final = _EveryStep()


def get_value(work: WorkMeter, text: str, path: str) -> Value:
    """Return the value at the path, or a list when the path can match several."""
    # A path that is too long is refused for its beginning as well, and that is found quickly.
    path = path[: MAX_PATTERN + 1]
    work.prepare(("path", path), _READ_COST * len(path))
    steps = steps_of(path)
    work.spend(_PARSE_COST * len(text) + _PART_COST * sum(map(text.count, "[{,:")))
    found = [_document(text)]
    for step in steps:
        if not found:
            break
        work.spend(_PART_COST * len(found))
        found = [part for value in found for part in _parts(work, value, step)]
    if any(isinstance(step, _EveryStep | _DeepStep) for step in steps):
        return tuple([_scalar(work, value) for value in found])
    if not found:
        raise Fault(FormulaCode.PATH_NOT_FOUND, f"the JSON has nothing at {path!r}")
    if isinstance(found[0], list):
        return tuple([_scalar(work, value) for value in found[0]])
    return _scalar(work, found[0])


@remember(KEPT_PATTERNS)
def steps_of(path: str) -> tuple[PathStep, ...]:
    """Return the steps of a path; raises Fault for an invalid path."""
    if len(path) > MAX_PATTERN or not path.startswith("$"):
        _refuse(path)
    steps: list[PathStep] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if not found:
            _refuse(path)
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> PathStep:
    if found["name"] is not None:
        return _DeepStep(found["name"]) if found["deep"] else found["name"]
    if found["index"] is not None:
        return int(found["index"])
    return _EVERY if found["quoted"] is None else found["quoted"]


def _refuse(path: str) -> NoReturn:
    raise Fault(FormulaCode.INVALID_PATH, f"the JSON path {path[:40]!r} is not understood")


def _document(text: str) -> object:
    depth = 0
    for mark in _MARKS.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0], 0)
        if depth > MAX_JSON_DEPTH:
            raise Fault(
                FormulaCode.INVALID_JSON, f"the JSON is nested more than {MAX_JSON_DEPTH} deep"
            )
    try:
        return cast(
            "object",
            json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_number),
        )
    except ValueError:
        raise Fault(FormulaCode.INVALID_JSON, "the text is not JSON") from None


def _number(written: str) -> Decimal:
    number = read_number(written)
    if number is None:
        raise Fault(
            FormulaCode.INVALID_JSON, f"the JSON holds {written[:40]}, which is not a number here"
        )
    return number


def _parts(work: WorkMeter, value: object, step: PathStep) -> Iterator[object]:
    if isinstance(step, _EveryStep):
        yield from _inside(value)
    elif isinstance(step, _DeepStep):
        yield from _members_at_any_depth(work, value, step)
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
    elif isinstance(value, dict) and step in value:
        yield value[step]


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _members_at_any_depth(work: WorkMeter, value: object, name: str) -> Iterator[object]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        work.spend(_PART_COST)
        if isinstance(value, dict) and name in value:
            yield value[name]
        waiting.extend(reversed(_inside(value)))


def _scalar(work: WorkMeter, value: object) -> Scalar:
    work.spend(_PART_COST)
    if isinstance(value, dict | list):
        value = _json(value)
        work.spend(_WRITE_COST * len(value))
    if isinstance(value, str) and _LONE_SURROGATE.search(value):
        raise Fault(FormulaCode.INVALID_JSON, "the JSON holds half of a surrogate pair")
    return check_length(value) if isinstance(value, str) else cast("Scalar", value)


def _json(value: object) -> str:
    if isinstance(value, dict):
        members = (f"{_json(name)}:{_json(member)}" for name, member in value.items())
        return f"{{{join_texts(members, ',', around=2)}}}"
    if isinstance(value, list):
        return f"[{join_texts(map(_json, value), ',', around=2)}]"
    if isinstance(value, Decimal):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)
