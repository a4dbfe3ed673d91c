"""GraphQL over server-sent events: each operation has its own connection."""

import asyncio
from collections.abc import Awaitable
from contextlib import ExitStack
from functools import partial
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.schema.core.errors import FormattedError
from penstock.schema.core.scalars import encode_json
from penstock.server.auth.tokens import Authentication
from penstock.server.core.headers import MAX_ACCEPT_CHARS, MediaType, request_headers
from penstock.server.edge.graphql import GraphQLApp, RequestSource, check_no_mutation_by_get
from penstock.server.edge.request import ClientGone, IncomingRequest, parse_request, receive_text
from penstock.server.edge.response import (
    LARGE_BYTES,
    HttpProblem,
    internal_problem,
    refusal_problem,
)
from penstock.server.streams.backpressure import Outbox
from penstock.server.streams.operations import StreamedOperation, StreamService
from penstock.server.streams.registry import EndReason, StreamLifetime, TooManyStreams

MEDIA: Final = "text/event-stream"
HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"vary", b"accept, authorization"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-accel-buffering", b"no"),
)
_KEEP_ALIVE: Final = b":\n\n"
_COMPLETE: Final = b"event: complete\ndata:\n\n"
_LAST_WORDS: Final = {
    EndReason.EXPIRED: b": the token has expired\n\n",
    EndReason.UNVERIFIED: b": the token cannot be verified now\n\n",
    EndReason.STOPPING: b": the server is stopping\n\n",
}
_END: Final = b""


class EventStreamApp:
    """Answers clients that prefer events to JSON, and passes all others to `plain`."""

    def __init__(self, service: StreamService, plain: GraphQLApp) -> None:
        self._service = service
        self._plain = plain

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer one request; errors before the operation starts are plain HTTP answers."""
        answer = self._stream if _wants_events(scope) else self._plain
        return answer(scope, receive, send)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        incoming = IncomingRequest.of(scope, receive)
        incoming.record.transport = "sse"
        with ExitStack() as held:
            try:
                stream, operation = await self._open_stream(incoming, send, held)
            except ClientGone:
                return
            except HttpProblem as problem:
                await self._refuse(problem, incoming, send)
                return
            except Exception as error:
                await self._refuse(internal_problem(error, incoming.request_id), incoming, send)
                return
            await stream.serve(operation)

    async def _open_stream(
        self, incoming: IncomingRequest, send: Send, held: ExitStack
    ) -> "tuple[EventStream, StreamedOperation]":
        runner = self._service.runner
        authentication = await self._authenticate(incoming, held)
        text = await receive_text(incoming, runner.engine.limits)
        stream = EventStream(self._service, incoming, send, authentication)
        caller, check = authentication.caller, partial(check_no_mutation_by_get, incoming=incoming)
        source = RequestSource(partial(parse_request, incoming), check)
        prepared = await runner.prepare(caller, text, source, incoming.record)
        return stream, StreamedOperation(runner, caller, prepared, incoming.record)

    async def _refuse(self, problem: HttpProblem, incoming: IncomingRequest, send: Send) -> None:
        response = self._plain.refusal_response(problem, incoming)
        incoming.record.note_answer(response.status)
        await response.send(send, incoming.request_id)

    async def _authenticate(self, incoming: IncomingRequest, held: ExitStack) -> Authentication:
        streams = self._service.streams
        if streams.stopping:
            headers = {"retry-after": "1"}
            message = "The server is stopping."
            raise HttpProblem(ErrorCode.SERVICE_UNAVAILABLE, message, headers=headers)
        try:
            authentication = await self._service.authenticate(incoming.headers)
            held.enter_context(streams.hold_for(authentication.caller))
        except PenstockError as error:
            raise refusal_problem(error, with_token="authorization" in incoming.headers) from None
        except TooManyStreams as error:
            raise HttpProblem(ErrorCode.RATE_LIMITED, str(error)) from None
        return authentication


class EventStream:
    """One answer in events, which is also the sink of its operation."""

    def __init__(
        self,
        service: StreamService,
        incoming: IncomingRequest,
        send: Send,
        authentication: Authentication,
    ) -> None:
        self._service = service
        self._incoming = incoming
        self._send = send
        self._session = authentication
        self._authenticate = partial(service.authenticate, incoming.headers)
        self._lifetime = StreamLifetime()
        self._outbox = Outbox(self._write, self._lifetime, service.limits, _KEEP_ALIVE)

    async def serve(self, operation: StreamedOperation) -> None:
        """Send answers until the operation, the client or the server ends the stream.

        A client may request a stream again that ended without `complete`.
        """
        user_id = self._session.caller.user_id
        with (
            self._service.streams.register(self._lifetime),
            self._service.unread.watch(user_id, self._outbox),
        ):
            id = (b"x-request-id", self._incoming.request_id.encode())
            head = {"type": "http.response.start", "status": 200, "headers": [*HEADERS, id]}
            await self._send(head)
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._outbox.run())
                watching = tasks.create_task(
                    self._lifetime.watch_session(self._session.caller, self._authenticate)
                )
                await self._outbox.put(_KEEP_ALIVE)
                await self._answer(operation, tasks)
                watching.cancel()
                writing.cancel()

    async def next(self, body: dict[str, Any]) -> None:
        await self._outbox.put(b"event: next\ndata: %b\n\n" % encode_json(body))

    async def error(self, errors: list[FormattedError]) -> None:
        await self.next({"errors": errors})
        await self.complete()

    async def complete(self) -> None:
        await self._outbox.put(_COMPLETE)

    async def _answer(self, operation: StreamedOperation, tasks: asyncio.TaskGroup) -> None:
        answering = operation.start(self, tasks)
        answering.add_done_callback(lambda _task: self._lifetime.end(EndReason.DONE))
        async with self._lifetime:
            self._lifetime.expire_at(self._session.expires_at)
            await self._wait_for_disconnect()
        ending = self._lifetime.ending
        if ending is EndReason.STOPPING and operation.has_one_answer:
            await asyncio.wait([answering])
        operation.stop()
        if ending in _LAST_WORDS:
            await self._outbox.put(_LAST_WORDS[ending])
        if ending is not None:
            await self._end()

    async def _end(self) -> None:
        await self._outbox.put(_END)
        await self._outbox.wait_until_sent()

    async def _wait_for_disconnect(self) -> None:
        while (await self._incoming.receive())["type"] != "http.disconnect":
            pass

    async def _write(self, message: bytes) -> None:
        more = message != _END
        await self._send({"type": "http.response.body", "body": message, "more_body": more})
        if len(message) > LARGE_BYTES:
            # Servers take this one when the client has taken the rest.
            await self._send({"type": "http.response.body", "body": _KEEP_ALIVE, "more_body": True})


def _wants_events(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] not in ("GET", "POST"):
        return False
    return _prefers_events(request_headers(scope))


def _prefers_events(headers: Headers) -> bool:
    """Tell whether the client ranks events above every form of JSON."""
    accept = ",".join(headers.getlist("accept")).lower()
    if MEDIA not in accept or len(accept) > MAX_ACCEPT_CHARS:
        return False
    named: dict[str, float] = {}
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            named[media] = float(quality)
        except ValueError:
            named[media] = 0.0
    return named.get(MEDIA, 0.0) > max(named.get(media, 0.0) for media in MediaType)
