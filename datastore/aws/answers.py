"""HTTP for the clients of AWS's library, whose answers are read only as far as AWS's ever reach.

The library reads every answer but that of a file whole, parses it in the event loop, and follows
redirects with the body and the token of the session. So what a service sends is bounded here, in
bytes and in elements, before the library sees it: it may be any, a user's or one of AWS's.
"""

from typing import Any, ClassVar, Final, NamedTuple

from aiobotocore.httpsession import AIOHTTPSession
from aiohttp import ClientPayloadError, ClientResponse, DummyCookieJar

from penstock.datastore.aws.framing import bound_framing
from penstock.datastore.aws.markup import MAX_ERROR_MARKUP, MAX_MARKUP, find_excess

MAX_LIST_BYTES: Final = 4 * 1024 * 1024
"""More than a page of 1,000 keys, each of 1,024 bytes and escaped, has."""

MAX_ERROR_BYTES: Final = 64 * 1024
MAX_INTERIM: Final = 3
"""The most answers of status 1xx before an answer; S3 sends at most one."""

_BLOCK: Final = 64 * 1024


class _FewInterim:
    """A connection's protocol from which few interim answers are read."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._interim = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    async def read(self) -> Any:
        """Read the next answer; raises ClientPayloadError for one interim answer too many."""
        message, payload = await self._protocol.read()
        self._interim += message.code < 200
        if self._interim > MAX_INTERIM:
            raise ClientPayloadError("too many interim answers came before an answer")
        return message, payload


class _OpenedConnection:
    """A connection with another protocol in its place."""

    def __init__(self, connection: Any, protocol: Any) -> None:
        self._connection = connection
        self.protocol = protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class BoundedResponse(ClientResponse):
    """An answer that is read whole only if it is no larger than one of S3, KMS or STS."""

    most_bytes: ClassVar[int] = MAX_LIST_BYTES
    most_error_bytes: ClassVar[int] = MAX_ERROR_BYTES
    is_markup: ClassVar[bool] = True

    async def start(self, connection: Any) -> ClientResponse:
        """Read the head, behind a few interim answers; the library would read them without end."""
        few = _FewInterim(connection.protocol)
        try:
            return await super().start(_OpenedConnection(connection, few))  # type: ignore[arg-type]
        finally:
            self._protocol, self._connection = connection.protocol, connection

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
        is_error = self.status >= 300
        most = self.most_error_bytes if is_error else self.most_bytes
        blocks, size = list[bytes](), 0
        while block := await self.content.read(_BLOCK):
            blocks.append(block)
            size += len(block)
            if size > most:
                raise ClientPayloadError(f"the answer has more than {most} bytes")
        body = b"".join(blocks)
        most_markup = MAX_ERROR_MARKUP if is_error else MAX_MARKUP
        if self.is_markup and (excess := find_excess(body, most_markup)):
            raise ClientPayloadError(f"the answer has too many {excess}")
        return body


class DirectRequests(NamedTuple):
    """The requests of an aiohttp session, none of which follows a redirect."""

    session: Any

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        return await self.session.request(*args, **kwargs, allow_redirects=False)


class DirectSession(AIOHTTPSession):  # type: ignore[misc]  # the library has no types
    """The HTTP session of a client: no answer chooses where requests go."""

    response_class: ClassVar[type[ClientResponse]] = BoundedResponse

    def _create_connector(self, proxy_url: str | None) -> Any:
        connector = super()._create_connector(proxy_url)
        bound_framing(connector)
        return connector

    async def _get_session(self, proxy_url: str | None) -> DirectRequests:
        session = await super()._get_session(proxy_url)
        session._response_class = self.response_class  # noqa: SLF001 - the library makes the session
        # AWS sets no cookies, and a jar keeps as many as answers set, in memory and in requests.
        session._cookie_jar = DummyCookieJar()  # noqa: SLF001
        return DirectRequests(session)
