"""A bound of the bytes around the contents of an answer, which the library skips uncounted.

There is no end to the empty lines before an answer, to the zeros of a chunk's size, and to what may
stand behind it; and chunks of one byte take the event loop a microsecond each.
"""

import asyncio
from functools import partial
from typing import Any, Final

from aiohttp import ClientPayloadError
from aiohttp.client_proto import ResponseHandler

MAX_FRAMING_BYTES: Final = 256 * 1024
"""The most bytes of one exchange around the content, beyond one for each byte of it."""


class FramedConnection(ResponseHandler):
    """A connection of the library that ends if an answer has more around its content than any."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._received = 0
        self._earlier: object = None

    def set_response_params(self, **options: Any) -> None:
        """Begin a new answer."""
        self._received, self._earlier = 0, self._payload
        super().set_response_params(**options)

    def data_received(self, data: bytes) -> None:
        """Parse what was received, unless that is too much for its content."""
        self._received += len(data)
        super().data_received(data)
        if self._received > MAX_FRAMING_BYTES + 2 * self._content_bytes:
            self._refuse()

    @property
    def _content_bytes(self) -> int:
        content = self._payload
        return 0 if content is None or content is self._earlier else content.total_bytes

    def _refuse(self) -> None:
        error = ClientPayloadError("the answer has more around its content than any of AWS")
        for waiting in (self, self._payload):
            if waiting is not None:
                waiting.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


def bound_framing(connector: Any) -> None:
    """Let a connector of the library make connections with this bound."""
    connector._factory = partial(FramedConnection, loop=asyncio.get_running_loop())  # noqa: SLF001
