"""Calculations that call calculations: what is called, who knows it, and what calls in a circle."""

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from penstock.formula.core.datasets import LATEST, Pin
from penstock.formula.core.values import Parameter, ValueType


class Callee(msgspec.Struct, frozen=True):
    """A calculation as a formula names it: `#name(..., version=3)`."""

    name: str
    pin: Pin = LATEST


class Signature(msgspec.Struct, frozen=True):
    """A calculation found: `identity` is its id and version; it tells one from every other.

    Problems tell nothing of what is in one that is not `shown` to who reads them.
    """

    identity: str
    parameters: tuple[Parameter, ...]
    formula: str
    output: ValueType | None = None
    shown: bool = True

    @property
    def required(self) -> int:
        """How many arguments a call must have: all up to the last required parameter."""
        places = [place for place, one in enumerate(self.parameters, start=1) if one.required]
        return places[-1] if places else 0


class Library(Protocol):
    """Knows calculations by name."""

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        """Find what a formula means by a name; None when nothing visible has it.

        `within` is the identity of the calculation whose formula calls, so that its own groups
        decide; None for the formula being checked or evaluated.
        """
        ...


class NoLibrary:
    """Knows no calculation."""

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return None


class Found(msgspec.Struct, frozen=True):
    """One calculation's call of another, as found: `signature` is None when nothing was."""

    within: str | None
    callee: Callee
    signature: Signature | None


def find_cycle(graph: Mapping[str, Iterable[str]]) -> tuple[str, ...] | None:
    """Return a circle of the graph, its first name repeated at the end, or None."""
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
