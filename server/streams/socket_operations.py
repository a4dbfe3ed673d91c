"""The operations that run on one WebSocket."""

import asyncio
from functools import partial
from typing import Any

from penstock.datastore.errors import ErrorCode
from penstock.datastore.roles import Caller
from penstock.schema.core.errors import FormattedError, add_details, format_error
from penstock.schema.engine.operations import PreparedOperation, RequestRejected
from penstock.server.core.headers import IndexedHeaders, request_id_of
from penstock.server.edge.graphql import RequestSource
from penstock.server.edge.response import HttpProblem
from penstock.server.streams.backpressure import Outbox
from penstock.server.streams.messages import (
    CloseCode,
    CloseRequest,
    Subscribe,
    complete_message,
    error_message,
    next_message,
)
from penstock.server.streams.operations import StreamedOperation, StreamService
from penstock.server.telemetry.operation import OperationRecord


class _SocketSink:
    """Sends answers under one operation id."""

    def __init__(self, id: str, outbox: Outbox) -> None:
        self._id = id
        self._outbox = outbox

    async def next(self, body: dict[str, Any]) -> None:
        await self._outbox.put(next_message(self._id, body))

    async def error(self, errors: list[FormattedError]) -> None:
        await self._outbox.put(error_message(self._id, errors))

    async def complete(self) -> None:
        await self._outbox.put(complete_message(self._id))


class RunningOperations:
    """The operations of one connection by id; at most `service.limits.operations` run at once.

    A mutation that its client has completed counts until its result. `headers` are those of the
    handshake.
    """

    def __init__(
        self,
        service: StreamService,
        outbox: Outbox,
        tasks: asyncio.TaskGroup,
        headers: IndexedHeaders,
    ) -> None:
        self._runner = service.runner
        self._watchers = service.watchers
        self._most = service.limits.operations
        self._outbox = outbox
        self._tasks = tasks
        self._headers = headers
        self._request_id = request_id_of(headers)
        self._begun = 0
        self._by_id: dict[str, StreamedOperation] = {}
        self._running: dict[StreamedOperation, asyncio.Task[None]] = {}

    async def begin(self, message: Subscribe, caller: Caller, source: RequestSource) -> None:
        """Run the operation of the message; raises CloseRequest for a used id or a bad payload."""
        if message.id in self._by_id:
            reason = f"Subscriber for {message.id} already exists"
            raise CloseRequest(CloseCode.SUBSCRIBER_EXISTS, reason)
        sink = _SocketSink(message.id, self._outbox)
        if len(self._running) >= self._most:
            text = f"This connection runs {self._most} operations already; that is the most."
            error = format_error(text, ErrorCode.LIMIT_EXCEEDED)
            await sink.error(add_details([error], self._request_id))
            return
        self._begun += 1
        seen = OperationRecord.of(f"{self._request_id}.{self._begun}", "websocket", self._headers)
        prepared = await self._prepare(message, caller, source, seen)
        operation = StreamedOperation(self._runner, caller, prepared, seen, self._watchers)
        self._start(operation, message.id, sink)

    async def _prepare(
        self, message: Subscribe, caller: Caller, source: RequestSource, seen: OperationRecord
    ) -> PreparedOperation | RequestRejected:
        """Prepare the operation of a message; each socket reads one in a turn of the loop."""
        await asyncio.sleep(0)
        try:
            return await self._runner.prepare(caller, bytes(message.payload), source, seen)
        except HttpProblem as problem:
            raise CloseRequest(CloseCode.BAD_REQUEST, str(problem)) from None

    def complete(self, id: str) -> None:
        """Stop an operation at its client's request, if it still runs."""
        operation = self._by_id.pop(id, None)
        if operation is not None and operation.stop():
            self._running.pop(operation, None)

    def stop(self) -> None:
        """Stop every operation."""
        for id in tuple(self._by_id):
            self.complete(id)

    async def finish(self) -> None:
        """End the subscriptions, and wait for the answers of the others."""
        for operation in tuple(self._running):
            if not operation.has_one_answer:
                operation.stop()
        if self._running:
            await asyncio.wait(tuple(self._running.values()))

    def _start(self, operation: StreamedOperation, id: str, sink: _SocketSink) -> None:
        task = operation.start(sink, self._tasks)
        self._by_id[id] = operation
        self._running[operation] = task
        task.add_done_callback(partial(self._forget_operation, operation, id))

    def _forget_operation(
        self, operation: StreamedOperation, id: str, _task: asyncio.Task[None]
    ) -> None:
        self._running.pop(operation, None)
        if self._by_id.get(id) is operation:
            del self._by_id[id]
