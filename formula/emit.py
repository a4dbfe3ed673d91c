"""The lines of a generated Python function, the values they use, and the places they stand for.

Nothing of a formula's text enters the source: names are numbered, and constants are handed over as
objects through the namespace.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from penstock.formula.errors import Position
from penstock.formula.values import Kind, python_types, refuse

HEADER_LINES: Final = 1


class Operand(NamedTuple):
    """A Python name of the generated function, and what its value may be."""

    name: str
    kind: Kind


class Emitter:
    """Collects the body of one function; each operation is a line, so a line number is a place."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Position | None] = []
        self.namespace: dict[str, object] = {"refuse": refuse}
        self._names: dict[object, str] = {}
        self._indent = 1
        self._count = 0

    def emit(self, source: str, at: Position | None) -> None:
        """Add a line which stands for a place of the formula."""
        self.lines.append(f"{' ' * self._indent}{source}")
        self.places.append(at)

    def fresh(self) -> str:
        """Return a name which nothing else has."""
        self._count += 1
        return f"t{self._count}"

    def constant(self, value: object) -> str:
        """Return the name under which the function finds the value."""
        name = f"k{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def shared(self, value: object) -> str:
        """Return one and the same name for one and the same (hashable) object."""
        if value not in self._names:
            self._names[value] = self.constant(value)
        return self._names[value]

    @contextmanager
    def block(self, opening: str, at: Position | None) -> Iterator[None]:
        """Indent what is emitted within, below the opening line."""
        self.emit(opening, at)
        self._indent += 1
        yield
        self._indent -= 1

    def want(self, operand: Operand, wanted: Kind, at: Position) -> Operand:
        """Add the check that a value is of the wanted kinds, unless that is known already."""
        if operand.kind in wanted:
            return operand
        types, words = self.shared(python_types(wanted)), self.shared(wanted)
        name = operand.name
        self.emit(f"if type({name}) not in {types}: refuse({name}, {words})", at)
        return Operand(name, operand.kind & wanted)
