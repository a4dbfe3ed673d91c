"""HTTP for users' buckets, whose answers are read only as far as S3's ever reach.

AWS's library reads every answer but that of a file whole, and parses it in the event loop. So what
a user's server sends is bounded here, in bytes and in elements, before the library sees it.
"""

from typing import Any, Final, NamedTuple

from aiobotocore.httpsession import AIOHTTPSession
from aiohttp import ClientPayloadError, ClientResponse

MAX_LIST_BYTES: Final = 4 * 1024 * 1024
"""More than a page of 1,000 keys, each of 1,024 bytes and escaped, has."""

MAX_ERROR_BYTES: Final = 64 * 1024
MAX_MARKUP: Final = 30_000
"""The most `<` of an answer: those of a page of 1,000 keys are some 16,000."""

_BLOCK: Final = 64 * 1024


class BoundedResponse(ClientResponse):
    """An answer that is read whole only if it is no larger than one of S3."""

    async def read(self) -> bytes:
        """Return the body; raises ClientPayloadError, and closes the connection, beyond a bound."""
        if self._body is None:
            try:
                self._body = await self._read_bounded()
            except BaseException:
                self.close()
                raise
        return self._body

    async def _read_bounded(self) -> bytes:
        most = MAX_ERROR_BYTES if self.status >= 300 else MAX_LIST_BYTES
        blocks, size = list[bytes](), 0
        while block := await self.content.read(_BLOCK):
            blocks.append(block)
            size += len(block)
            if size > most:
                raise ClientPayloadError(f"the answer has more than {most} bytes")
        body = b"".join(blocks)
        if body.count(b"<") > MAX_MARKUP:
            raise ClientPayloadError("the answer has too many elements")
        return body


class DirectRequests(NamedTuple):
    """The requests of an aiohttp session, none of which follows a redirect."""

    session: Any

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        return await self.session.request(*args, **kwargs, allow_redirects=False)


class DirectSession(AIOHTTPSession):  # type: ignore[misc]  # the library has no types
    """The HTTP session of a user's bucket: the user's answers do not choose where requests go."""

    async def _get_session(self, proxy_url: str | None) -> DirectRequests:
        session = await super()._get_session(proxy_url)
        session._response_class = BoundedResponse  # noqa: SLF001 - the library makes the session
        return DirectRequests(session)
