"""Heads of requests that were parsed on a connection, so that they need not be parsed again."""

from typing import Final, NamedTuple, cast

from starlette.types import Scope
from uvicorn._types import HTTPScope

from server.fields import fields_of

MOST_HEADS: Final = 4
MOST_BYTES: Final = 4096
"""A connection remembers so many heads, of so many bytes each."""

_ASKING_FOR_MORE: Final = frozenset((b"connection", b"expect", b"transfer-encoding", b"upgrade"))


class Head(NamedTuple):
    """What was parsed of a head: the scope of its request, and how many bytes of body follow."""

    scope: HTTPScope
    length: int


def copied(scope: HTTPScope) -> HTTPScope:
    """The scope of another request with the very same head."""
    scope = scope.copy()
    scope["state"] = scope["state"].copy()
    return scope


class Heads:
    """The heads that a client sent last on one connection.

    Clients send the same fields with each request, but for the length of the body.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}

    def get(self, sent: bytes) -> Head | None:
        return self._known.get(sent)

    def learn(self, sent: bytes, whole: int, scope: HTTPScope) -> None:
        """Remember a head that a request of `whole` bytes came with, if it is a plain one."""
        length = _length_of(scope)
        if length is None or len(sent) + length != whole or len(sent) > MOST_BYTES:
            return
        if len(self._known) == MOST_HEADS:
            del self._known[next(iter(self._known))]
        fields_of(cast("Scope", scope))  # so that all requests with this head share them
        self._known[sent] = Head(scope, length)


def _length_of(scope: HTTPScope) -> int | None:
    """How long the body is; None where the head says more about it, or about the connection."""
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    if scope["http_version"] != "1.1" or len(lengths) > 1:
        return None
    if any(name in _ASKING_FOR_MORE for name, _ in scope["headers"]):
        return None
    if not lengths:
        return 0
    return int(lengths[0]) if lengths[0].isdigit() else None
