"""uvicorn's protocol of a connection, which does not parse anew what the client sent before."""

import asyncio

from uvicorn._types import ASGI3Application, HTTPScope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from server.http.heads import Head, Heads, copied
from server.http.whole_answers import WholeAnswers


class RepeatedHeads(HttpToolsProtocol):
    """One connection. Whatever is not a head that came before, and its body, is left to uvicorn.

    The timer of an idle connection is not set anew for each request: it looks when it is due.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._heads = Heads()
        self._amid_request = False
        self._parsed: HTTPScope | None = None
        self._idle_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        if self._amid_request or self._is_busy or self.limit_concurrency is not None:
            super().data_received(data)
            self._rest()
            return
        end = data.find(b"\r\n\r\n") + 4
        sent = data[:end]
        head = self._heads.get(sent)
        if head is not None and len(data) == end + head.length:
            self._answer(head, data[end:])
            return
        parsed = self._parsed_of(data)
        if parsed is not None and not self._amid_request:
            self._heads.learn(sent, len(data), parsed)
        self._rest()

    def on_message_begin(self) -> None:
        self._amid_request = True
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._amid_request = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        if self.pipeline or self.timeout_keep_alive_task is None:
            super().on_response_complete()
        else:
            self.server_state.total_requests += 1

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle for long enough, else look again later."""
        self.timeout_keep_alive_task = None
        if self._is_busy:
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._look_in(left)
        else:
            super().timeout_keep_alive_handler()

    def _parsed_of(self, data: bytes) -> HTTPScope | None:
        """Leave data to uvicorn; gives the scope of the last request that it begins, if any."""
        self._parsed = None
        super().data_received(data)
        return self._parsed

    def _rest(self) -> None:
        """Set the timer again that uvicorn took away for data behind an answer that came early."""
        is_open = self in self.connections and not self.transport.is_closing()
        cycle: RequestResponseCycle | None = self.cycle
        is_answered = cycle is not None and cycle.response_complete
        if is_open and is_answered and self.timeout_keep_alive_task is None:
            self._idle_since = self.loop.time()
            self._look_in(self.timeout_keep_alive)

    def _look_in(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    @property
    def _is_busy(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _answer(self, head: Head, body: bytes) -> None:
        """Begin to answer a request that came whole, as uvicorn does after it parsed one."""
        self.scope = copied(head.scope)
        self.cycle = cycle = RequestResponseCycle(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=self.on_response_complete,
        )
        cycle.body, cycle.more_body = bytearray(body), False
        cycle.message_event.set()
        super()._start_asgi_task(cycle, WholeAnswers(self.app, cycle))

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._parsed = copied(cycle.scope)
        super()._start_asgi_task(cycle, WholeAnswers(app, cycle))
