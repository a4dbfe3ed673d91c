"""A generated function with the way back from its lines to the places of the formula."""

from collections.abc import Callable, Sequence
from decimal import DecimalException
from typing import Final

from penstock.formula.emit import HEADER_LINES, Emitter
from penstock.formula.errors import Fault, Position
from penstock.formula.numbers import out_of_range
from penstock.formula.values import Kind, Value

_FILE: Final = "<formula>"
FAULTS: Final = (Fault, DecimalException)


class Routine:
    """A compiled function; `run` may raise one of `FAULTS`, whose place `locate` finds."""

    def __init__(self, parameters: Sequence[str], body: Emitter, kind: Kind) -> None:
        self.kind = kind
        self.source = "\n".join([f"def run({', '.join(parameters)}):", *body.lines])
        self.metered = "work" in self.source.split("\n", 1)[1]
        self._places = tuple(body.places)
        namespace = dict(body.namespace)
        code = compile(self.source, _FILE, "exec", dont_inherit=True, optimize=0)
        exec(code, namespace)  # noqa: S102 - the source holds numbered names only (formula/emit.py)
        self.run: Callable[..., Value] = namespace["run"]  # type: ignore[assignment]

    def locate(self, error: BaseException) -> Position | None:
        """Return the place of the operation which raised; None for the reading of inputs."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self.run.__code__:
            trace = trace.tb_next
        return None if trace is None else self._places[trace.tb_lineno - 1 - HEADER_LINES]

    def as_call(self, name: str) -> Callable[..., Value]:
        """Return the function for calls from another formula; its faults say where, in words."""

        def call(*arguments: object) -> Value:
            try:
                return self.run(*arguments)
            except FAULTS as error:
                fault = fault_of(error)
                message = f"in #{name}, {self.locate(error)}: {fault.message}"
                raise Fault(fault.code, message) from None

        return call


def fault_of(error: Fault | DecimalException) -> Fault:
    """Return the fault an error stands for: a decimal signal is a number out of range."""
    return error if isinstance(error, Fault) else out_of_range()
