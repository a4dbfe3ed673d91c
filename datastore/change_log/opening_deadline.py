"""The deadline of opening a subscription; none runs while its first event is waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


def _end_nothing() -> None:
    pass


_end: Final[ContextVar[Callable[[], None]]] = ContextVar("opening_deadline", default=_end_nothing)


@contextmanager
def opening_until(end: Callable[[], None]) -> Iterator[None]:
    """Call `end` when what the block opens is open, and waits for its first event."""
    token = _end.set(end)
    try:
        yield
    finally:
        _end.reset(token)


def end_opening() -> None:
    """End the deadline, if there is one: from here on nothing but time passes until an event."""
    _end.get()()
