"""Builds and compiles the source of one Python function; maps its lines to the formula.

No text of a formula enters the source: names are numbered, and constants are passed as objects in
the namespace.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import DecimalException
from typing import Final, NamedTuple

from penstock.formula.core.errors import Fault, Position
from penstock.formula.core.numbers import out_of_range
from penstock.formula.core.values import Value, ValueKind, python_types, refuse
from penstock.formula.syntax.tree import Expression

HEADER_LINES: Final = 1


class Operand(NamedTuple):
    """A Python variable of the generated function, and the kinds its value may have."""

    name: str
    kind: ValueKind


class Emitter:
    """Collects the body of one function; each operation is one line, so a line has one place."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Position | None] = []
        self.namespace: dict[str, object] = {"refuse": refuse}
        self._names: dict[object, str] = {}
        self._indent = 1
        self._count = 0

    def emit(self, source: str, at: Position | None) -> None:
        """Add a line for a place of the formula."""
        self.lines.append(f"{' ' * self._indent}{source}")
        self.places.append(at)

    def new_variable(self) -> str:
        """Return a variable name that is not used yet."""
        self._count += 1
        return f"t{self._count}"

    def constant(self, value: object) -> str:
        """Return the name under which the function finds a value."""
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def shared_name(self, value: object) -> str:
        """Return the same name each time for the same (hashable) object."""
        if value not in self._names:
            self._names[value] = self.constant(value)
        return self._names[value]

    @contextmanager
    def block(self, opening: str, at: Position | None) -> Iterator[None]:
        """Indent the lines emitted in the block, below its opening line."""
        self.emit(opening, at)
        self._indent += 1
        yield
        self._indent -= 1

    def check_kind(self, operand: Operand, wanted: ValueKind, at: Position) -> Operand:
        """Add the check that a value is of the wanted kinds, unless its kind is known."""
        if operand.kind in wanted:
            return operand
        types, words = self.shared_name(python_types(wanted)), self.shared_name(wanted)
        name = operand.name
        self.emit(f"if type({name}) not in {types}: refuse({name}, {words})", at)
        return Operand(name, operand.kind & wanted)


class ExpressionEmitter(Emitter, ABC):
    """An emitter that also writes the lines of whole expressions."""

    @property
    @abstractmethod
    def within(self) -> str | None:
        """The identity of the calculation whose formula this is, if it is one."""

    @abstractmethod
    def operand(self, node: Expression) -> Operand:
        """Add the lines which compute an expression; return where its value is."""

    def checked_operand(self, node: Expression, wanted: ValueKind) -> Operand:
        """Add the lines of an expression and the check of its kind."""
        return self.check_kind(self.operand(node), wanted, node.at)


_FILE: Final = "<formula>"
FAULTS: Final = (Fault, DecimalException)

MOST_INLINED: Final = 200
"""The most lines of a function that stand in another one; they are compiled once more."""

_DEEPEST: Final = " " * 50
"""The indentation from which on the lines stay apart: Python allows a hundred levels."""

_NUMBERED: Final = re.compile(r"\b([ptk])(\d+)\b")
"""The name of a parameter, a variable or a constant."""


class InlinedRoutine(NamedTuple):
    """The lines of a function for the body of another one, and the name of its result there."""

    lines: Sequence[str]
    result: str
    namespace: Mapping[str, object]


class Routine:
    """A compiled function; `run` may raise one of `FAULTS`, and `locate` finds its place."""

    def __init__(self, parameters: Sequence[str], body: Emitter, kind: ValueKind) -> None:
        self.kind = kind
        self.source = "\n".join([f"def run({', '.join(parameters)}):", *body.lines])
        within = "\n".join(body.lines)
        self.metered, self.refers_earlier = "work" in within, "earlier" in within
        self._lines = tuple(body.lines)
        self._places = tuple(body.places)
        self._namespace = body.namespace
        namespace = dict(body.namespace)
        code = compile(self.source, _FILE, "exec", dont_inherit=True, optimize=0)
        exec(code, namespace)  # noqa: S102 - the source holds numbered names only (formula/codegen/emitter.py)
        self.run: Callable[..., Value] = namespace["run"]  # type: ignore[assignment]

    def inline(self, prefix: str, values: Sequence[str]) -> InlinedRoutine | None:
        """Return the function as lines that begin with no space; None if they are many or deep.

        The other function has the values of the parameters under the names `values`; all other
        numbered names here begin with the prefix there.
        """
        if len(self._lines) > MOST_INLINED or any(x.startswith(_DEEPEST) for x in self._lines):
            return None

        def rename(found: re.Match[str]) -> str:
            return values[int(found[2])] if found[1] == "p" else f"{prefix}{found[0]}"

        *lines, last = (_NUMBERED.sub(rename, line[1:]) for line in self._lines)
        constants = {_NUMBERED.sub(rename, name): value for name, value in self._namespace.items()}
        return InlinedRoutine(lines, last.removeprefix("return "), constants)

    def locate(self, error: BaseException) -> Position | None:
        """Return the place of the operation that raised; None for reading inputs."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self.run.__code__:
            trace = trace.tb_next
        return None if trace is None else self._places[trace.tb_lineno - 1 - HEADER_LINES]

    def as_call(self, name: str) -> Callable[..., Value]:
        """Return the function for calls from another formula; its faults name the place."""

        def call(*arguments: object) -> Value:
            try:
                return self.run(*arguments)
            except FAULTS as error:
                fault = fault_of(error)
                message = f"in #{name}, {self.locate(error)}: {fault.message}"
                raise Fault(fault.code, message) from None

        return call


def fault_of(error: Fault | DecimalException) -> Fault:
    """Return the fault of an error: a decimal signal is a number out of range."""
    return error if isinstance(error, Fault) else out_of_range()
