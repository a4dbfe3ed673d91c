"""Explains one row: the tree of a formula with the value of every part that was evaluated."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from penstock.formula.checking.calculation_library import Callee
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.checking.linker import LinkedFormula, link
from penstock.formula.codegen import generator
from penstock.formula.codegen.emitter import FAULTS, Routine
from penstock.formula.core.datasets import Datasets, NoDatasets
from penstock.formula.core.errors import FormulaFailure, Position
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.values import Scalar, Value, kind_of
from penstock.formula.evaluate import Row, failure_of
from penstock.formula.syntax.parser import parse
from penstock.formula.syntax.render import render
from penstock.formula.syntax.tree import Assign, CalculationCall, Chain, Expression, Line, children

_MAX_TEXT: Final = 200
_NO_DATA: Final = NoDatasets()
_NOTHING: Final[Mapping[str, Scalar]] = {}


class TooManyParts(Exception):
    """An explanation has more parts than its reader wants."""


class Part(msgspec.Struct, frozen=True):
    """A part of a formula, in canonical text cut at 200 characters.

    `evaluated` is False for branches not taken and for parts after an error. In a chain of
    operators, `operator` stands before the part and `so_far` is the value of the chain up to and
    including it. `body` holds the lines of a called calculation.
    """

    text: str
    at: Position
    evaluated: bool
    value: Value = None
    operator: str | None = None
    so_far: Value = None
    parts: tuple["Part", ...] = ()
    body: tuple["Part", ...] = ()


class Explanation(msgspec.Struct, frozen=True):
    """The lines of a formula with their values, and the result or the failure."""

    lines: tuple[Part, ...]
    value: Value
    failure: FormulaFailure | None


def explain(  # noqa: PLR0913 - all but two have defaults
    text: str,
    surroundings: Surroundings,
    row: Row,
    datasets: Datasets = _NO_DATA,
    earlier: Mapping[str, Scalar] = _NOTHING,
    *,
    most_parts: int = sys.maxsize,
) -> Explanation:
    """Evaluate a formula for one row and return every intermediate value.

    Raises FormulaInvalid for a formula that cannot be used, and TooManyParts as soon as there are
    more than `most_parts`; a failure of the row is part of the result.
    """
    linked = link(parse(text), surroundings)
    environment = (datasets.lookup, datasets.impact, earlier.get, WorkMeter())
    routine = generator.routine_for_rows(linked, traced=True)
    return _explain_linked(linked, routine, (row.get,), environment, _PartBudget(most_parts))


class _PartBudget:
    """The parts that an explanation may still have, called calculations included."""

    __slots__ = ("_left",)

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self) -> None:
        """Take one part; raises TooManyParts."""
        self._left -= 1
        if self._left < 0:
            raise TooManyParts


def _explain_linked(
    linked: LinkedFormula,
    routine: Routine,
    arguments: Sequence[object],
    environment: Sequence[object],
    budget: _PartBudget,
) -> Explanation:
    seen: dict[int, Value] = {}
    value, failure = None, None
    try:
        value = routine.run(*arguments, *environment, seen)
    except FAULTS as error:
        failure = failure_of(error, routine)
    tree = _ExplanationBuilder(linked, seen, environment, budget)
    return Explanation(tuple(map(tree.line, linked.formula.lines)), value, failure)


class _ExplanationBuilder:
    """Combines the recorded values with the parts of the formula."""

    def __init__(
        self,
        linked: LinkedFormula,
        seen: Mapping[int, Value],
        environment: Sequence[object],
        budget: _PartBudget,
    ) -> None:
        self._linked = linked
        self._seen = seen
        self._environment = environment
        self._budget = budget

    def line(self, line: Line) -> Part:
        if isinstance(line, Assign):
            self._budget.take()
            value = self.part(line.value)
            return Part(_cut(render(line)), line.at, value.evaluated, value.value, parts=(value,))
        return self.part(line)

    def part(self, node: Expression) -> Part:
        self._budget.take()
        body = self._body(node) if isinstance(node, CalculationCall) else ()
        parts = self._chain(node) if isinstance(node, Chain) else map(self.part, children(node))
        text, value = _cut(render(node)), self._seen.get(id(node))
        return Part(
            text, node.at, id(node) in self._seen, value, parts=tuple(parts), body=tuple(body)
        )

    def _chain(self, node: Chain) -> list[Part]:
        parts = [self.part(node.first)]
        for step in node.steps:
            so_far = self._seen.get(id(step))
            replace: Callable[..., Part] = msgspec.structs.replace
            parts.append(replace(self.part(step.operand), operator=step.operator, so_far=so_far))
        return parts

    def _body(self, node: CalculationCall) -> Sequence[Part]:
        """Return the lines of the calculation, if it was called: all its arguments were valid."""
        linked = self._linked.callees[Callee(node.name, pin_of(node.options))]
        parameters = linked.surroundings.parameters
        given = [self._seen[id(one)] for one in node.arguments if id(one) in self._seen]
        fitting = [kind_of(v) in p.kind for v, p in zip(given, parameters, strict=False)]
        if len(given) < len(node.arguments) or not all(fitting):
            return ()
        arguments = [*given, *([None] * (len(parameters) - len(given)))]
        routine = generator.routine_for_calls(linked, traced=True)
        budget = self._budget
        return _explain_linked(linked, routine, arguments, self._environment, budget).lines


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
