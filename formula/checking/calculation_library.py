"""Calculations that call calculations: names, the library that finds them, cycles of calls."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from penstock.formula.core.datasets import LATEST, VersionPin
from penstock.formula.core.values import FormulaParameter, FormulaType


class Callee(msgspec.Struct, frozen=True):
    """A calculation as a formula names it: `#name(..., version=3)`."""

    name: str
    pin: VersionPin = LATEST


class ResolvedCalculation(msgspec.Struct, frozen=True):
    """A calculation that was found; `identity` is its id and version and is unique.

    `shown` tells whether the caller may see it; problems quote no content of one that is hidden.
    """

    identity: str
    parameters: tuple[FormulaParameter, ...]
    formula: str
    output: FormulaType | None = None
    shown: bool = True

    @property
    def required_count(self) -> int:
        """The least number of arguments of a call: all up to the last required parameter."""
        places = [place for place, one in enumerate(self.parameters, start=1) if one.required]
        return places[-1] if places else 0


class CalculationLibrary(Protocol):
    """Finds calculations by name."""

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        """Find the calculation that a formula names; None if no visible one has the name.

        `within` is the identity of the calculation that contains the formula, whose groups decide;
        None for the formula that is checked or evaluated.
        """
        ...


class NoLibrary:
    """A library without calculations."""

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        return None


class ResolvedCall(msgspec.Struct, frozen=True):
    """One calculation's call of another; `signature` is None when the name was not found."""

    within: str | None
    callee: Callee
    signature: ResolvedCalculation | None


def find_cycle(graph: Mapping[str, Iterable[str]]) -> tuple[str, ...] | None:
    """Return a cycle of the graph, its first name repeated at the end, or None."""
    done: set[str] = set()
    for start in graph:
        path: dict[str, None] = {}
        waiting = [(start, iter((start,)))]
        while waiting:
            owner, following = waiting[-1]
            name = next(following, None)
            if name is None:
                waiting.pop()
                path.pop(owner, None)
                done.add(owner)
            elif name in path:
                names = list(path)
                return (*names[names.index(name) :], name)
            elif name not in done:
                path[name] = None
                waiting.append((name, iter(graph.get(name, ()))))
    return None
