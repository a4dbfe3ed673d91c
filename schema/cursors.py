"""Page arguments and the sealed cursors that connections hand out."""

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Final

from penstock.datastore.errors import BadInput

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100
MAX_CURSOR_LENGTH: Final = 4_096
_SEAL_BYTES: Final = 12
_MIN_KEY_BYTES: Final = 16


class Cursors:
    """Seals positions in lists, so that a cursor opens only in the list that gave it.

    A scope names all that decides what the list holds: list, partition, digest of the filter, and
    what the caller may see. Positions can be read by whoever holds the cursor; they cannot be made.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise ValueError(f"The cursor key needs at least {_MIN_KEY_BYTES} bytes.")
        self._key = key

    def seal(self, scope: str, position: str) -> str:
        """Make the cursor of a position: 12 bytes of HMAC and the position, base64url."""
        payload = position.encode()
        return urlsafe_b64encode(self._seal(scope, payload) + payload).rstrip(b"=").decode()

    def open(self, scope: str, cursor: str) -> str:
        """Read the position back; BadInput unless this key sealed it for this very scope."""
        raw = _decoded(cursor)
        seal, payload = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(scope, payload)):
            raise _invalid()
        return payload.decode()

    def _seal(self, scope: str, payload: bytes) -> bytes:
        bound = scope.encode()
        message = b"%d:%b%b" % (len(bound), bound, payload)
        return hmac.digest(self._key, message, "sha256")[:_SEAL_BYTES]


def _decoded(cursor: str) -> bytes:
    """Decode base64url that re-encodes to itself: one position has one cursor."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        raise _invalid()
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except binascii.Error:
        raise _invalid() from None
    if urlsafe_b64encode(raw).rstrip(b"=").decode() != cursor:
        raise _invalid()
    return raw


def _invalid() -> BadInput:
    return BadInput("Invalid cursor.")


@dataclass(frozen=True, slots=True)
class PageArguments:
    """A page to read: `size` edges behind `cursor`, walking from the end when `backward`."""

    size: int = DEFAULT_PAGE_SIZE
    cursor: str | None = None
    backward: bool = False


def page_arguments(
    first: int | None = None,
    after: str | None = None,
    last: int | None = None,
    before: str | None = None,
) -> PageArguments:
    """Settle a connection's arguments; BadInput names the one that cannot stand.

    `first` goes with `after` and `last` with `before`; with neither size, the first 20 are meant.
    """
    if first is not None and last is not None:
        raise BadInput("Give `first` or `last`, not both.")
    if last is None:
        if before is not None:
            raise BadInput("`before` goes with `last`.", ("before",))
        return PageArguments(_size("first", first), after)
    if after is not None:
        raise BadInput("`after` goes with `first`.", ("after",))
    return PageArguments(_size("last", last), before, backward=True)


def _size(argument: str, size: int | None) -> int:
    if size is None:
        return DEFAULT_PAGE_SIZE
    if not 1 <= size <= MAX_PAGE_SIZE:
        raise BadInput(f"`{argument}` is 1 to {MAX_PAGE_SIZE}, not {size}.", (argument,))
    return size
