"""The operations of one connection, by the ids that its client gave them."""

import asyncio
from functools import partial
from typing import Any

from penstock.datastore.access import Caller
from penstock.datastore.errors import ErrorCode
from penstock.schema.errors import FormattedError, formatted
from penstock.server.fields import Fields
from penstock.server.observing import Seen
from penstock.server.request import request_id_of
from penstock.server.streams.messages import (
    CloseCode,
    Closing,
    Subscribe,
    complete_message,
    error_message,
    next_message,
)
from penstock.server.streams.operations import Operation
from penstock.server.streams.outbox import Outbox
from penstock.server.streams.service import StreamService


class _Sink:
    """Answers under one id."""

    def __init__(self, id: str, outbox: Outbox) -> None:
        self._id = id
        self._outbox = outbox

    async def next(self, body: dict[str, Any]) -> None:
        await self._outbox.put(next_message(self._id, body))

    async def error(self, errors: list[FormattedError]) -> None:
        await self._outbox.put(error_message(self._id, errors))

    async def complete(self) -> None:
        await self._outbox.put(complete_message(self._id))


class Running:
    """Runs at most `service.limits.operations` at once, in tasks of the group.

    A mutation whose client has lost interest counts until it is through. `headers` are those of the
    handshake.
    """

    def __init__(
        self, service: StreamService, outbox: Outbox, tasks: asyncio.TaskGroup, headers: Fields
    ) -> None:
        self._runner = service.runner
        self._watchers = service.watchers
        self._most = service.limits.operations
        self._outbox = outbox
        self._tasks = tasks
        self._headers = headers
        self._request_id = request_id_of(headers)
        self._begun = 0
        self._by_id: dict[str, Operation] = {}
        self._running: dict[Operation, asyncio.Task[None]] = {}

    async def begin(self, message: Subscribe, caller: Caller) -> None:
        """Run what the message asks for; Closing where its id is taken or it asks for nothing."""
        if message.id in self._by_id:
            reason = f"Subscriber for {message.id} already exists"
            raise Closing(CloseCode.SUBSCRIBER_EXISTS, reason)
        request = message.request()
        sink = _Sink(message.id, self._outbox)
        if len(self._running) >= self._most:
            text = f"This connection runs {self._most} operations already; that is the most."
            await sink.error([formatted(text, ErrorCode.LIMIT_EXCEEDED)])
            return
        self._begun += 1
        seen = Seen.of(f"{self._request_id}.{self._begun}", "websocket", self._headers)
        await self._runner.engine.read(request)
        asked = self._runner.prepare(request, seen)
        operation = Operation(self._runner, caller, asked, seen, self._watchers)
        self._start(operation, message.id, sink)

    def complete(self, id: str) -> None:
        """End an operation that the client has no more interest in, if it still runs."""
        operation = self._by_id.pop(id, None)
        if operation is not None and operation.stop():
            self._running.pop(operation, None)

    def stop(self) -> None:
        """End every operation."""
        for id in tuple(self._by_id):
            self.complete(id)

    async def finish(self) -> None:
        """End the subscriptions, and wait until the rest is answered."""
        for operation in tuple(self._running):
            if not operation.has_one_answer:
                operation.stop()
        if self._running:
            await asyncio.wait(tuple(self._running.values()))

    def _start(self, operation: Operation, id: str, sink: _Sink) -> None:
        task = operation.start(sink, self._tasks)
        self._by_id[id] = operation
        self._running[operation] = task
        task.add_done_callback(partial(self._ended, operation, id))

    def _ended(self, operation: Operation, id: str, _task: asyncio.Task[None]) -> None:
        self._running.pop(operation, None)
        if self._by_id.get(id) is operation:
            del self._by_id[id]
