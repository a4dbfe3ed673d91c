"""Runs an operation for a streaming client over any transport: any number of answers, an end."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from penstock.datastore.change_log.opening_deadline import opening_until
from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.datastore.formulas.threads import formula_caller
from penstock.datastore.periodic import is_cancelled
from penstock.datastore.roles import Caller
from penstock.datastore.table.instrumentation import Units
from penstock.schema.core.errors import (
    FormattedError,
    add_details,
    format_error,
    format_known_error,
    mask_internal_error,
)
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.operations import OperationResult, PreparedOperation, RequestRejected
from penstock.server.auth.tokens import Authentication
from penstock.server.edge.graphql import (
    AdmittedOperation,
    OpenContext,
    OperationReader,
    RequestContext,
    RequestSource,
    add_consistency_token,
    name_unreadable,
)
from penstock.server.edge.response import LARGE_BYTES, HttpProblem
from penstock.server.streams.backpressure import StreamLimits
from penstock.server.streams.registry import StreamRegistry
from penstock.server.streams.standing_requests import StandingRequests
from penstock.server.streams.unread_answers import UnreadAnswers
from penstock.server.telemetry.operation import (
    OperationRecord,
    WatchOperation,
    begin_operation,
    end_operation,
)

_NO_EVENT: Final = object()


class AnswerSink(Protocol):
    """The receiver of an operation's answers; each call may wait for a slow client."""

    async def next(self, body: dict[str, Any]) -> None:
        """Send an answer; TypeError for a value without a JSON form."""

    async def error(self, errors: list[FormattedError]) -> None:
        """Send errors in place of an answer; they end the operation."""

    async def complete(self) -> None:
        """Report that there are no more answers."""


class OperationRunner(NamedTuple):
    """The reader of operations, the function that opens contexts, and what subscriptions keep.

    A subscription has one context for its whole time, and a fresh one for each event: data loaded
    for one event must not serve the next one.
    """

    reader: OperationReader
    open_context: OpenContext
    standing: StandingRequests

    @property
    def engine(self) -> GraphQLEngine:
        return self.reader.engine

    async def prepare(
        self, caller: Caller, text: bytes, source: RequestSource, seen: OperationRecord
    ) -> PreparedOperation | RequestRejected:
        """Return the prepared operation, or the refusal; raises HttpProblem as the source does."""
        try:
            return await self.reader.read(caller, text, source, seen)
        except RequestRejected as refused:
            # This one holds its frames, and they the request, while its answer waits for a client.
            return RequestRejected(*refused.errors)
        except PenstockError as error:
            return RequestRejected(format_known_error(error))
        except HttpProblem:
            raise
        except Exception as error:
            return RequestRejected(mask_internal_error(error, seen.request_id))

    async def answers(
        self, caller: Caller, prepared: PreparedOperation, seen: OperationRecord
    ) -> AsyncGenerator[OperationResult]:
        """Yield the answers of an operation.

        Raises RequestRejected if it cannot go on, and LimitExceeded for a subscription too many.
        """
        id = seen.request_id
        admission = AdmittedOperation.of(id, prepared)
        seen.units = spent = Units()
        if not prepared.is_subscription:
            run = partial(self.engine.run, prepared, request_id=id)
            answer = await self._within_deadline(caller, admission, run, spent)
            with self._end_turn_after(answer, caller):
                yield answer
            return
        with (
            self.standing.keep(caller.user_id, prepared),
            self._open_metered(caller, admission, spent) as context,
        ):
            events = self._open_in_time(self.engine.events(prepared, context, id))
            async with aclosing(events):
                async for event in events:
                    run = partial(self.engine.run_event, prepared, event, request_id=id)
                    answer = await self._within_deadline(caller, admission, run, spent)
                    with self._end_turn_after(answer, caller):
                        yield answer

    async def _open_in_time(self, events: AsyncGenerator[object]) -> AsyncGenerator[object]:
        """Yield the events; RequestRejected if it takes too long until the first can be awaited."""
        seconds = self.engine.limits.deadline_seconds
        async with aclosing(events):
            try:
                async with asyncio.timeout(seconds) as deadline:
                    with opening_until(partial(_end_deadline, deadline)):
                        first = await anext(events, _NO_EVENT)
            except TimeoutError:
                if not deadline.expired():
                    raise
                raise _late_refusal(seconds) from None
            if first is not _NO_EVENT:
                yield first
            async for event in events:
                yield event

    async def _within_deadline(
        self,
        caller: Caller,
        admission: AdmittedOperation,
        run: Callable[[object], Awaitable[OperationResult]],
        spent: Units,
    ) -> OperationResult:
        """Run in a turn of the caller, which lasts longer than this if the answer is large."""
        seconds = self.engine.limits.deadline_seconds
        try:
            async with asyncio.timeout(seconds) as deadline:
                return await self._run_in_turn(caller, admission, run, spent)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise _late_refusal(seconds) from None

    async def _run_in_turn(
        self,
        caller: Caller,
        admission: AdmittedOperation,
        run: Callable[[object], Awaitable[OperationResult]],
        spent: Units,
    ) -> OperationResult:
        turns = self.reader.limits.running
        await turns.enter(caller.user_id)
        formula_caller.set(caller.user_id)
        is_large = False
        try:
            with self._open_metered(caller, admission, spent) as context:
                answer = await name_unreadable(run(context), caller)
                add_consistency_token(answer, context)
            self.reader.owe_answer(caller, admission.cost, answer)
            is_large = answer.size > LARGE_BYTES
            return answer
        finally:
            if not is_large:
                turns.leave(caller.user_id)

    @contextmanager
    def _end_turn_after(self, answer: OperationResult, caller: Caller) -> Iterator[None]:
        """End the turn that a large answer has kept until it is sent."""
        try:
            yield
        finally:
            if answer.size > LARGE_BYTES:
                self.reader.limits.running.leave(caller.user_id)

    @contextmanager
    def _open_metered(
        self, caller: Caller, admission: AdmittedOperation, spent: Units
    ) -> Iterator[RequestContext]:
        """Open a context, and add its units to `spent` when it closes."""
        context = self.open_context(caller, admission)
        try:
            yield context
        finally:
            spent.rcu += context.units.rcu
            spent.wcu += context.units.wcu
            spent.calls += context.units.calls


def _end_deadline(deadline: asyncio.Timeout) -> None:
    if not deadline.expired():
        deadline.reschedule(None)


def _late_refusal(seconds: float) -> RequestRejected:
    message = f"The operation took longer than {seconds:g} s."
    return RequestRejected(format_error(message, ErrorCode.TIMEOUT))


class StreamedOperation:
    """One operation from its request to its end, shown to every watcher.

    A mutation that has started runs to its result even if its client leaves, as over plain HTTP.
    """

    def __init__(
        self,
        runner: OperationRunner,
        caller: Caller,
        prepared: PreparedOperation | RequestRejected,
        seen: OperationRecord,
        watchers: Sequence[WatchOperation] = (),
    ) -> None:
        self._runner = runner
        self._caller = caller
        self._prepared = prepared
        self._record = seen
        self._watchers = watchers
        self._task: asyncio.Task[None] | None = None
        self._must_finish = not isinstance(prepared, RequestRejected) and prepared.is_mutation
        self._muted = False

    @property
    def has_one_answer(self) -> bool:
        return isinstance(self._prepared, RequestRejected) or not self._prepared.is_subscription

    def start(self, sink: AnswerSink, tasks: asyncio.TaskGroup) -> asyncio.Task[None]:
        """Run in a task of the group; the sink gets every answer and the end."""
        self._task = tasks.create_task(self._run(sink))
        return self._task

    def stop(self) -> bool:
        """Send no more answers; returns whether the operation itself stops as well."""
        self._muted = True
        if self._task is not None and not self._must_finish:
            self._task.cancel()
        return not self._must_finish

    async def _run(self, sink: AnswerSink) -> None:
        called = begin_operation(self._watchers, self._record)
        try:
            await self._answer(sink)
        except RequestRejected as refused:
            await self._fail(sink, refused.errors)
        except PenstockError as error:
            await self._fail(sink, [format_known_error(error)])
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            await self._fail(sink, [mask_internal_error(error, self._record.request_id)])
        except Exception as error:
            await self._fail(sink, [mask_internal_error(error, self._record.request_id)])
        finally:
            end_operation(called, self._record)

    async def _answer(self, sink: AnswerSink) -> None:
        if isinstance(self._prepared, RequestRejected):
            raise self._prepared
        answers = self._runner.answers(self._caller, self._prepared, self._record)
        async with aclosing(answers):
            async for answer in answers:
                self._must_finish = False
                if self._muted:
                    return
                errors = answer.body.get("errors", [])
                if "data" not in answer.body:
                    raise RequestRejected(*errors)
                if errors:
                    answer.body["errors"] = add_details(errors, self._record.request_id)
                await sink.next(answer.body)
                self._note_answer(errors)
        await sink.complete()

    async def _fail(self, sink: AnswerSink, errors: list[FormattedError]) -> None:
        self._must_finish = False
        if not self._muted:
            self._note_answer(errors)
            await sink.error(add_details(errors, self._record.request_id))

    def _note_answer(self, errors: list[FormattedError]) -> None:
        self._record.note_errors(errors)
        self._record.note_answer(200 if self._record.transport == "sse" else None)


Authenticate: TypeAlias = Callable[[Mapping[str, object]], Awaitable[Authentication]]


@dataclass(frozen=True, slots=True)
class StreamService:
    """The parts that serve a stream over any transport.

    `authenticate` returns the session that headers prove, or raises a PenstockError. `watchers` see
    the operations of a WebSocket; ObservedApp shows those of a request.
    """

    runner: OperationRunner
    authenticate: Authenticate
    streams: StreamRegistry
    limits: StreamLimits
    watchers: Sequence[WatchOperation] = ()
    unread: UnreadAnswers = field(default_factory=UnreadAnswers)
