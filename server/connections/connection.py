"""The guard of one connection: it hands on to uvicorn one request after another."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from penstock.server.connections.body_account import BodyAccount
from penstock.server.connections.body_budget import Party
from penstock.server.connections.client_reading import ClientReading
from penstock.server.connections.gate import EndReason, Gates, Stage
from penstock.server.connections.guarded_transport import GuardedTransport
from penstock.server.connections.held_bytes import HeldBytes
from penstock.server.connections.reading_pauses import PauseReason, ReadingPauses
from penstock.server.connections.refusals import (
    BAD_HANDSHAKE,
    HEAD_TOO_LARGE,
    HEAD_TOO_LATE,
    MALFORMED,
    TOO_MANY_CONNECTIONS,
    TOO_MUCH_BODY,
    TOO_MUCH_BODY_OF_CLIENT,
    UNKNOWN_METHOD,
    RefusedRequest,
)
from penstock.server.connections.request_body import ChunkedBody, SizedBody
from penstock.server.connections.request_head import (
    END,
    RequestHead,
    is_health_probe,
    parse_head,
)
from penstock.server.connections.sender import Sender
from penstock.server.connections.websocket_handshake import check_handshake

STATE_KEY: Final = "penstock.connection"
"""The key of the connection in the state of an ASGI scope."""

PAUSE_BYTES: Final = 64 * 1024
"""The bytes behind a request at which reading stops until the request is answered."""

LINGER_BYTES: Final = 2**20
"""The most bytes of a refused client that are dropped while it reads why it is refused."""

_NOBODY: Final = asyncio.Protocol()
"""In the place of the protocol of a connection that has ended."""

_REASONS: Final = {
    MALFORMED: EndReason.MALFORMED,
    BAD_HANDSHAKE: EndReason.MALFORMED,
    UNKNOWN_METHOD: EndReason.MALFORMED,
    HEAD_TOO_LARGE: EndReason.HEAD_TOO_LARGE,
    HEAD_TOO_LATE: EndReason.HEAD_TOO_LATE,
    TOO_MANY_CONNECTIONS: EndReason.TOO_MANY,
    TOO_MUCH_BODY: EndReason.TOO_MUCH_BODY,
    TOO_MUCH_BODY_OF_CLIENT: EndReason.TOO_MUCH_BODY,
}


class GuardedConnection(asyncio.Protocol):
    """A connection in front of uvicorn's protocol, which gets nothing that it could misread.

    It hands on a request when the one before is answered, and ends what waits too long.
    """

    def __init__(
        self,
        gates: Gates,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
    ) -> None:
        self._gates = gates
        self._gate = gates.main
        self._loop = asyncio.get_running_loop()
        self._state = {**app_state, STATE_KEY: self}
        self._inner: asyncio.Protocol = HttpToolsProtocol(
            config=config, server_state=server_state, app_state=self._state
        )
        self._take: Callable[[bytes], None] = self._take_head
        self._stage: Stage | None = Stage.FIRST_HEAD
        self._length = 0
        self._body: SizedBody | ChunkedBody | None = None
        self._is_answering = self._awaits_taking = False
        self._is_websocket = self._brings_token = False
        self._dropped = 0
        self.refuse_message: Callable[[], None] | None = None
        self.on_lost: Callable[[], None] | None = None
        self.serves_admin_only = False

    # A transport of uvloop is no asyncio.Transport, but has its methods.
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._real = transport
        self._transport = GuardedTransport(transport, self)
        self._gate = self._gates.gate_of(transport)
        self._held = HeldBytes(self._gate)
        self._sender = Sender(transport, self._gate)
        self._account = BodyAccount(self._gate)
        self._pauses = ReadingPauses(transport, self._gate)
        self._client_reading = ClientReading(transport, self._transport)
        self.serves_admin_only = self._gate is not self._gates.main
        self._inner.connection_made(self._transport)
        if not self._gate.admit(self):
            self._refuse(TOO_MANY_CONNECTIONS)

    def data_received(self, data: bytes) -> None:
        self._take(data)

    def eof_received(self) -> None:
        """Let the transport close, as uvicorn's protocol does: who sends no more has left."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._sender.leave_place()
        self._held.release()
        self._state.clear()
        if not self._transport.is_cut:
            # By an error uvicorn's protocol of requests does not stop its timer, which holds it.
            self._inner.connection_lost(exc if self._is_websocket else None)
        if self.on_lost is not None:
            self.on_lost()
        # uvicorn's protocol closes its transport once more.
        self._gate.remove(self)
        self._open_circles()

    def _open_circles(self) -> None:
        """Let go of all that holds the connection itself, with its last head and body.

        Collections of garbage are few, and of what lived for long there is nearly none.
        """
        self._take = _NOBODY.data_received
        self._inner = _NOBODY
        self._transport.release()
        self.refuse_message = None

    def pause_writing(self) -> None:
        self._await_reader()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        # What a closed connection still has to send keeps its time limit.
        if not self._real.is_closing():
            self._gate.end_reading(self, self._stage)
        self._inner.resume_writing()
        if self._awaits_taking:
            self._awaits_taking = False
            self._real.set_write_buffer_limits()
            self._gate.begin_later(self._take_held_request)

    def finish_request(self) -> None:
        """Begin to wait for the next request; the application calls it behind each answer."""
        self._is_answering = False
        self._account.give_back()
        self._sender.leave_place()
        if self._transport.is_cut or self._real.is_closing():
            return
        if self._body is not None:
            self._enter(Stage.REST_OF_BODY)
        else:
            self._await_request()

    def end_wait(self, stage: Stage) -> None:
        """End the connection for its client's silence, if it is silent."""
        if stage is Stage.READING:
            self._end_unless_read()
        elif stage is Stage.BODY and PauseReason.PROTOCOL in self._pauses:
            return
        elif stage in (Stage.FIRST_HEAD, Stage.HEAD) and self._held.content:
            self._refuse(HEAD_TOO_LATE)
        elif stage is Stage.NEXT_REQUEST:
            self.close()
        elif stage is Stage.LEAVING:
            self.abort()
        else:
            self._gate.count_end(EndReason.SILENT)
            self.abort()

    def abort(self) -> None:
        """End the connection at once."""
        self._held.release()
        self._real.abort()

    def close(self) -> None:
        """End the connection when its client has read what was written."""
        self._real.close()
        if self._real.get_write_buffer_size():
            self._await_reader()

    def distrust(self) -> None:
        """Count the request as a stranger's: its connection goes first when places are short."""
        if not self._transport.is_closing():
            self._enter(Stage.UNPROVEN)

    def refuse_handshake(self) -> None:
        """Refuse a handshake that uvicorn has neither answered nor begun to serve."""
        if not self._transport.is_closing():
            self._refuse(BAD_HANDSHAKE)

    def trust(self) -> None:
        """Count the connection as busy: its client has proven who it is."""
        if self._stage in (Stage.UNPROVEN, Stage.PROVING):
            self._enter(None)

    def take_place(self, caller: str) -> bool:
        """Count the connection as used by a caller from now on; False if they use too many."""
        if caller == self._sender.caller:
            return True
        self._sender.leave_place()
        if self._transport.is_closing():
            return True
        if not self._sender.take_place(caller):
            return False
        try:
            self._account.charge(self._sender.party)
        except RefusedRequest as refusal:
            self.refuse_content(refusal.answer)
        return True

    @property
    def site(self) -> str:
        return self._sender.site

    @property
    def party(self) -> Party | None:
        return None if PauseReason.PROTOCOL in self._pauses else self._sender.party

    @property
    def body_bytes(self) -> int:
        return self._account.size

    def release_body(self, size: int) -> None:
        """Count bytes of the body no longer, which the application has passed on."""
        self._account.give_back(size)

    def give_way(self) -> None:
        """Refuse the request or the message, whose client is slow to send it."""
        self.refuse_content(TOO_MANY_CONNECTIONS)
        # The application reads the end of the body now, and drops the rest.
        self._account.give_back()

    def refuse_content(self, answer: bytes) -> None:
        """Refuse a request for its body, or a WebSocket for its message."""
        if self.refuse_message is None:
            self._refuse(answer)
        else:
            self._gate.count_end(_REASONS[answer])
            self.refuse_message()

    def count_message(self, size: int) -> None:
        """Count so many bytes of a message of a WebSocket; raises RefusedRequest."""
        more = size - self._account.size
        if more > 0:
            self._account.take(self._sender.party, more)
        else:
            self._account.give_back(-more)
        if self._stage in (None, Stage.BODY):
            self._enter(Stage.BODY if size else None)

    def _count_body(self, size: int) -> None:
        """Count bytes that the application gets of a body; raises RefusedRequest."""
        if size and self._is_answering:
            self._account.take(self._sender.party, size)

    def pause(self) -> None:
        """Stop reading, for uvicorn's protocol."""
        self._pauses.add(PauseReason.PROTOCOL)

    def resume(self) -> None:
        """Read again for uvicorn's protocol, unless there is another reason against it."""
        self._pauses.remove(PauseReason.PROTOCOL)

    def replace_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Serve a WebSocket by this protocol."""
        if isinstance(protocol, asyncio.Protocol):
            # Once it has read the handshake.
            self._loop.call_soon(_release_parser, self._inner)
            self._inner = protocol
            self._is_websocket = True
            if not self._transport.is_closing():
                self._enter(Stage.PROVING if self._brings_token else Stage.UNPROVEN)

    def switch_protocols(self) -> None:
        """Hand on the bytes of a WebSocket as they come, once its handshake is answered."""
        self._loop.call_soon(self._hand_on_held)

    def _hand_on_held(self) -> None:
        # An answer to a request that was not upgraded is followed by another request.
        if not self._is_websocket or self._transport.is_closing():
            return
        held = self._held.take_all()
        self._take = self._hand_on
        self._pauses.remove(PauseReason.HELD_BYTES)
        if held:
            self._hand_on(held)

    def _hand_on(self, data: bytes) -> None:
        self._inner.data_received(data)

    def _take_head(self, data: bytes) -> None:
        if not self._held.content and not data.startswith(b"\r"):
            end = data.find(END) + len(END)
            if end >= len(END) and self._may_begin(data):
                self._take_request(data, end)
                return
        self._held.content += data
        self._search_head()

    def _may_begin(self, head: bytes | bytearray) -> bool:
        return is_health_probe(head) or self._gate.may_begin()

    def _search_head(self, *, has_turn: bool = False) -> None:
        """Begin the request whose head is held, if it is whole and the turn is its own."""
        held = self._held
        try:
            end = held.find_head_end()
            if end is None:
                self._hold_head()
            elif has_turn or self._may_begin(held.content):
                self._take_held_head(end)
            else:
                self._await_turn()
        except RefusedRequest as refusal:
            self._refuse(refusal.answer)
        if self._real.is_closing():
            return
        if len(held.content) > PAUSE_BYTES:
            self._pauses.add(PauseReason.HELD_BYTES)
        else:
            # The body of the request just begun may still be in the network.
            self._pauses.remove(PauseReason.HELD_BYTES)

    def _take_held_head(self, end: int) -> None:
        self._take_request(self._held.take_head(end), end)
        if self._body is not None and self._held.content:
            self._take_held_body(self._body)
        self._held.count()

    def _await_turn(self) -> None:
        """Hold what has come of a request until fewer others begin."""
        self._take = self._hold
        self._enter(None)
        self._held.count()
        self._gate.begin_later(self._take_held_request)

    def _take_held_body(self, body: SizedBody | ChunkedBody) -> None:
        size = self._length if isinstance(body, SizedBody) else len(self._held.content)
        self._take_body(self._held.take(size))

    def _hold_head(self) -> None:
        """Wait for the rest of a head; raises RefusedRequest if it is too large already."""
        self._held.check_begun_head()
        if self._stage is not Stage.FIRST_HEAD and self._stage is not Stage.HEAD:
            self._enter(Stage.HEAD)
        self._held.count()

    def _take_request(self, data: bytes, end: int) -> None:
        """Hand on the request whose head ends at `end`, with what has come of its body."""
        raw = data[:end]
        try:
            head = self._admit_request(parse_head(raw))
            is_whole = not (head.chunked or head.upgrades) and end + head.length == len(data)
            if is_whole:
                self._count_body(head.length)
        except RefusedRequest as refusal:
            self._refuse(refusal.answer)
            return
        if is_whole:
            self._take = self._hold
            self._inner.data_received(data if head.raw == raw else head.raw + data[end:])
            return
        self._inner.data_received(head.raw)
        if head.upgrades:
            self._take = self._hold
            self._hold(data[end:])
        else:
            self._body = ChunkedBody() if head.chunked else SizedBody(head.length)
            self._take = self._take_body
            self._take_body(data[end:])

    def _admit_request(self, head: RequestHead) -> RequestHead:
        """Note that the request begins; raises RefusedRequest if it cannot be served."""
        if head.upgrades:
            check_handshake(head.raw)
            self._brings_token = head.brings_token
        self._enter(None)
        if self._gate.is_full:
            if head.asks_for_health:
                head = head.as_last()
            elif not self._gate.make_place():
                raise RefusedRequest(TOO_MANY_CONNECTIONS)
        self._length = head.length
        self._is_answering = True
        self._transport.has_written = False
        self._transport.is_switching = head.upgrades
        return head

    def _take_body(self, data: bytes) -> None:
        body = self._body
        if body is None:
            return
        try:
            content = body.take(data)
            self._count_body(body.part_bytes)
        except RefusedRequest as refusal:
            self._refuse(refusal.answer)
            return
        if content:
            self._inner.data_received(content)
        if isinstance(body, ChunkedBody) and not self._may_go_on_with(body):
            return
        if body.is_complete:
            self._end_body(body.rest)
        elif self._is_answering and self._stage is not Stage.UNPROVEN:
            self._enter(Stage.BODY)

    def _end_body(self, rest: bytes) -> None:
        self._body = None
        self._take = self._hold
        self._hold(rest)
        if not self._is_answering:
            self._await_request()
        elif self._stage is Stage.BODY:
            self._enter(None)

    def _may_go_on_with(self, body: ChunkedBody) -> bool:
        """End the turn behind chunks, which take long to read, and a body that nobody wants."""
        if not self._is_answering and body.content_bytes > LINGER_BYTES:
            self.abort()
            return False
        self._pauses.end_turn()
        return True

    def _hold(self, data: bytes) -> None:
        self._held.content += data
        self._held.count()
        if len(self._held.content) > PAUSE_BYTES:
            self._pauses.add(PauseReason.HELD_BYTES)

    def _await_request(self) -> None:
        if self._held.content:
            self._await_turn()
        else:
            self._take = self._take_head
            self._enter(Stage.NEXT_REQUEST)

    def _take_held_request(self) -> None:
        """Begin the request that is held, once the client has taken the answers before it."""
        if self._transport.is_closing():
            return
        if self._real.get_write_buffer_size():
            self._await_taking()
            return
        self._take = self._take_head
        self._search_head(has_turn=True)

    def _await_taking(self) -> None:
        """Begin no further request until the client has taken all that was written."""
        self._take = self._hold
        self._enter(None)
        self._awaits_taking = True
        # The transport pauses the writing now, and resumes it when its buffer is empty.
        self._real.set_write_buffer_limits(high=0)

    def _enter(self, stage: Stage | None) -> None:
        self._gate.move(self, self._stage, stage)
        self._stage = stage

    def _refuse(self, answer: bytes) -> None:
        """Answer in place of the application, unless it has begun to answer; then leave."""
        self._gate.count_end(_REASONS[answer])
        is_answered = self._body is not None and not self._is_answering
        if self._is_answering and self._transport.has_written:
            self.abort()
            return
        self._transport.is_cut = True
        self._inner.connection_lost(None)
        self.leave()
        if not is_answered:
            self._transport.written_bytes += len(answer)
            self._real.write(answer)
        if self._real.can_write_eof():
            self._real.write_eof()

    def leave(self) -> None:
        """Drop what still comes, until the client has read the last bytes and closes."""
        self._held.release()
        self._take = self._drop
        self._pauses.remove(PauseReason.HELD_BYTES)
        self.resume()
        self._enter(Stage.LEAVING)

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.abort()

    def _end_unless_read(self) -> None:
        if not self._client_reading.go_on():
            self._gate.count_end(EndReason.UNREAD)
            self._held.release()
            # The system would keep the answer, and the client would not see the end of it.
            self._client_reading.reset()

    def _await_reader(self) -> None:
        self._client_reading.go_on()
        self._gate.begin_reading(self)


def _release_parser(protocol: asyncio.Protocol) -> None:
    """Open the circle of uvicorn's protocol with its parser, as it does where it sees the end."""
    if isinstance(protocol, HttpToolsProtocol):
        protocol.parser = None  # type: ignore[assignment]


def connection_of(scope: Scope) -> GuardedConnection | None:
    """Return the connection of a request; None without one, as in tests."""
    found = scope.get("state", {}).get(STATE_KEY)
    return found if isinstance(found, GuardedConnection) else None
