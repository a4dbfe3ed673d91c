"""Puts other names for calculations and datasets into the text of a formula."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from penstock.formula.checking.dataset_uses import dataset_calls, dataset_name_literal, pin_of
from penstock.formula.core.datasets import VersionPin
from penstock.formula.core.errors import Position
from penstock.formula.syntax.render import render
from penstock.formula.syntax.tree import CalculationCall, Formula, Literal, walk

NewName: TypeAlias = Callable[[str, VersionPin], str | None]
"""Gives the name to write in place of one with this pin; None keeps it."""

_QUOTED: Final = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'")


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def rename(formula: Formula, calculation: NewName, dataset: NewName) -> str:
    """The text of a formula with other names for what it calls and looks up.

    Everything else stays as it was written. A dataset name that a row decides stays too.
    """
    edits = sorted([*_call_edits(formula, calculation), *_dataset_edits(formula, dataset)])
    text = formula.text
    for edit in reversed(edits):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _call_edits(formula: Formula, new_name: NewName) -> Iterator[_Edit]:
    starts = _line_starts(formula.text)
    for node in walk(formula):
        if isinstance(node, CalculationCall):
            name = new_name(node.name, pin_of(node.options))
            start = _offset(starts, node.at) + 1
            if name is not None:
                yield _Edit(start, start + len(node.name), name)


def _dataset_edits(formula: Formula, new_name: NewName) -> Iterator[_Edit]:
    starts = _line_starts(formula.text)
    for node in dataset_calls(formula):
        literal = dataset_name_literal(node)
        if literal is None:
            continue
        name = new_name(str(literal.value), pin_of(node.options))
        start = _offset(starts, literal.at)
        written = _QUOTED.match(formula.text, start)
        if name is not None and written is not None:
            yield _Edit(start, written.end(), render(Literal(literal.at, name)))


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def _offset(starts: list[int], at: Position) -> int:
    return starts[at.line - 1] + at.column - 1
