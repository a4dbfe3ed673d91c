"""What is known at a line of a formula while it is checked, and what was found so far."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from penstock.formula.calls import Callee
from penstock.formula.errors import Code, Position, Problem, problem
from penstock.formula.uses import DatasetUse
from penstock.formula.values import Kind, Parameter

MAX_PROBLEMS: Final = 50
_MAX_SUGGESTIONS: Final = 10
_MAX_CANDIDATES: Final = 100


class Scope:
    """The names in force, and the problems, calls and datasets found; it keeps 50 problems."""

    def __init__(self, text: str, parameters: Sequence[Parameter]) -> None:
        self._text = text
        self._parameters = {parameter.key: parameter.kind for parameter in parameters}
        self._variables: dict[str, Kind] = {}
        self._suggestions = 0
        self.used: set[str] = set()
        self.problems: list[Problem] = []
        self.calls: list[Callee] = []
        self.datasets: list[DatasetUse] = []

    def report(self, code: Code, message: str, at: Position) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem(self._text, code, message, at))

    def assign(self, name: str, kind: Kind, at: Position) -> None:
        if name in self._parameters:
            message = f":{name} is a parameter; a variable needs another name"
            self.report(Code.SHADOWED_PARAMETER, message, at)
        self._variables[name] = kind

    def kind_of(self, name: str, at: Position) -> Kind | None:
        """Return what a name may hold; None, and a problem, when nothing has the name."""
        if name in self._parameters:
            self.used.add(name)
            return self._parameters[name]
        if name not in self._variables:
            known = (*self._parameters, *self._variables)
            hint = self.suggestion(name, known, ":")
            message = f"no parameter or variable is called :{name}{hint}"
            self.report(Code.UNDECLARED_PARAMETER, message, at)
            return None
        return self._variables[name]

    def suggestion(self, name: str, known: Iterable[str], mark: str = "") -> str:
        """Return `; did you mean ...?` for the nearest known name, or nothing."""
        near = [one for one in known if abs(len(one) - len(name)) <= 2][:_MAX_CANDIDATES]
        if self._suggestions >= _MAX_SUGGESTIONS or len(name) > 60:
            return ""
        self._suggestions += 1
        folded = {one.lower(): one for one in reversed(near)}
        found = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
        return f"; did you mean {mark}{folded[found[0]]}?" if found else ""
