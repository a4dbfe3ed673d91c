"""Calls and answers as bytes, which is all that a cluster ever sees of them.

Dask unpickles what it is given outside of any task: on a machine without Penstock that would end
the machine's process, and the scheduler would need Penstock, too. In a task it is a failure.
"""

import pickle
import zlib
from collections.abc import Callable
from typing import Any

from penstock.server.workers.ranged import PartFailed

open_call = pickle.loads
"""Makes the call that bytes hold; known to every machine, whatever is installed on it."""


def packed(function: Callable[..., object], *arguments: object) -> bytes:
    """The call of a function of a module as bytes, from which no log shows a URL."""
    call = zlib.compress(pickle.dumps(_Reduced(answered, function, arguments)))
    return pickle.dumps(_Reduced(open_call, _Reduced(zlib.decompress, call)))


def unpacked(answer: bytes) -> Any:
    """What the function returned; raises the PartFailed that it raised."""
    found = pickle.loads(answer)  # noqa: S301 - from the cluster, which is trusted with the plan
    if isinstance(found, PartFailed):
        raise found
    return found


def answered(function: Callable[..., object], arguments: tuple[object, ...]) -> bytes:
    """The answer to a call, as bytes; a failure is one, too, lest Dask logs it with its call."""
    try:
        return pickle.dumps(function(*arguments))
    except PartFailed as failed:
        return pickle.dumps(failed)


class _Reduced:
    """Stands for what a function makes of arguments, where it is unpickled."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._made = function, arguments

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._made
