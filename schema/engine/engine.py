"""From a request to its answer: find the document, check its limits, run it, mask its errors.

An operation runs compiled, or is interpreted by graphql-core.
"""

from asyncio import CancelledError, current_task, get_running_loop, sleep
from collections import Counter
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from inspect import isawaitable
from typing import Any, Final

from graphql import ExecutionResult, GraphQLError
from graphql.execution.values import VariableValues
from orjson import Fragment
from strawberry import Schema

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.graphql_jit import (
    AnswerMeter,
    CompiledOperation,
    ExecutionOptions,
    FallbackReason,
    answer_meter,
)
from penstock.graphql_jit.msgspec_lists import list_encoder_of
from penstock.schema.core.errors import (
    format_error,
    format_known_error,
    format_request_error,
    mask_internal_error,
    report_errors,
)
from penstock.schema.core.scalars import encode_json
from penstock.schema.engine.answer_size import count_bytes, leaf_bytes
from penstock.schema.engine.cost import ANSWER_BYTES, ANSWER_VALUES
from penstock.schema.engine.documents import (
    DocumentCache,
    ParsedDocument,
    PersistedDocuments,
    core_schema,
    read_digest,
)
from penstock.schema.engine.interpreter import (
    Executor,
    Interpreter,
    Outcome,
    is_awaitable,
    metered_executor,
)
from penstock.schema.engine.limits import Limits, check_cost, choose_operation, rejection_error
from penstock.schema.engine.operations import (
    OperationRequest,
    OperationResult,
    PreparedOperation,
    RequestRejected,
)
from penstock.schema.engine.plan_payment import PlanPayment, pay_for_plan

LONG_DOCUMENT: Final = 1_000
"""Documents with more characters are parsed, checked and compiled in a thread."""

MANY_FIELDS: Final = 10
"""Operations with more fields are compiled there too; a fragment counts where it is used.

A plan of so many takes a millisecond or two."""

# One thread, since several would make the event loop wait for the interpreter's lock.
graphql_thread: Final = ThreadPoolExecutor(1, "graphql")


class CompiledExecutor:
    """Runs operations as compiled plans, which are cached with their documents.

    The first `interpreted_runs` of each operation are left to graphql-core, since a plan is not
    worth its cost for a document that runs once. Data is plain unless it may be what orjson writes
    (`written`). `fallbacks` counts the reasons for which operations were not run compiled.
    """

    __slots__ = ("_options", "fallbacks", "written")

    def __init__(
        self, schema: Schema, limits: Limits, *, interpreted_runs: int = 0, written: bool = False
    ) -> None:
        self.fallbacks: Counter[FallbackReason] = Counter()
        self.written = written
        self._options = ExecutionOptions(
            schema=core_schema(schema),
            is_awaitable=is_awaitable,
            executor_class=metered_executor(schema),
            max_coercion_errors=limits.errors,
            hide_suggestions=not limits.suggestions,
            interpreted_runs=interpreted_runs,
            lists=list_encoder_of if written else None,
            leaf_bytes=leaf_bytes,
        )

    def __call__(
        self, prepared: PreparedOperation, context: object, root: object = None, /
    ) -> Outcome:
        operation = self._find_compiled(prepared)
        values = operation.coerce_variables(prepared.variables)
        if isinstance(values, list):
            return ExecutionResult(errors=values)
        if operation.is_ready(values):
            return operation.execute(values, context, root)
        payment = pay_for_plan(prepared, context)
        if isinstance(payment, FallbackReason):
            return operation.interpret(values, context, root, payment)
        if _is_long(prepared):
            return self._compile_and_execute(operation, values, context, root, payment)
        payment.compile(operation, values)
        return operation.execute(values, context, root)

    def _find_compiled(self, prepared: PreparedOperation) -> CompiledOperation:
        kept, name = prepared.document.compiled, prepared.operation.name
        found = kept.get(name)
        if found is None:
            node = prepared.operation.node
            found = kept[name] = CompiledOperation(
                self._options, prepared.ast, node, self.fallbacks, prepared.document.room
            )
        return found

    async def _compile_and_execute(
        self,
        operation: CompiledOperation,
        values: VariableValues,
        context: object,
        root: object,
        payment: PlanPayment,
    ) -> ExecutionResult:
        loop = get_running_loop()
        compile_plan = payment.compile_in_thread
        await loop.run_in_executor(graphql_thread, compile_plan, operation, values, loop)
        result = operation.execute(values, context, root)
        return await result if isawaitable(result) else result


def _is_long(prepared: PreparedOperation) -> bool:
    """Whether compiling the operation takes long: a short text may use a fragment often."""
    fields = prepared.operation.measure.fields
    return len(prepared.document.text) > LONG_DOCUMENT or fields > MANY_FIELDS


_MORE: Final = " Select less, or smaller pages. What the operation changes is changed."


def _refuse_answer(message: str, units: int) -> OperationResult:
    """Make the answer in place of one that is too large."""
    error = format_error(message + _MORE, ErrorCode.LIMIT_EXCEEDED)
    return OperationResult({"errors": [error], "data": None}, units=units)


def _write_answer(data: dict[str, Any] | None, meter: AnswerMeter) -> OperationResult:
    """Make an answer whose data is JSON already, which is quicker than to count its bytes."""
    try:
        json = encode_json(data)
    except TypeError:
        # Whoever writes the answer reports it.
        return OperationResult({"data": data}, units=_answer_units(meter.values, 0))
    units = _answer_units(meter.values, len(json))
    return OperationResult({"data": Fragment(json)}, None, len(json), units)


def _answer_units(values: int, size: int) -> int:
    return values // ANSWER_VALUES + size // ANSWER_BYTES


def _cancel_at_next_wait() -> None:
    """Put off a cancellation until the operation has begun, which alone can end what it holds."""
    task = current_task()
    if task is not None:
        # A timeout compares the number of requests with what it was before.
        task.uncancel()
        task.cancel()


class GraphQLEngine:
    """Runs the operations of one schema: compiled, unless another `executor` is given."""

    __slots__ = ("_documents", "_executor", "_interpreter", "_persisted", "_written", "limits")

    def __init__(
        self,
        schema: Schema,
        limits: Limits | None = None,
        *,
        persisted: PersistedDocuments | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._documents = DocumentCache(schema, self.limits)
        self._persisted = persisted or PersistedDocuments()
        self._interpreter = Interpreter(schema, self.limits)
        self._executor = executor or CompiledExecutor(schema, self.limits)
        self._written = isinstance(self._executor, CompiledExecutor) and self._executor.written

    @property
    def cached_documents(self) -> int:
        """The number of checked documents in the cache."""
        return len(self._documents)

    @property
    def cached_persisted_texts(self) -> int:
        """The number of texts that came with their digest and are in the cache."""
        return self._persisted.cached_count

    def unread_text(self, request: OperationRequest) -> str | None:
        """Return the text of the document that `prepare` would parse; None if it parses nothing."""
        try:
            text = self._find_persisted(request) if request.query is None else request.query
        except GraphQLError:
            return None
        if text in self._documents or len(text) > self.limits.source_length:
            return None
        return text

    async def read(self, text: str) -> None:
        """Parse and check a document, in a thread if it is long, so that `prepare` finds it."""
        if len(text) > LONG_DOCUMENT:
            await self._documents.read_in_executor(text, graphql_thread)

    def prepare(
        self, request: OperationRequest, *, introspection: bool = True
    ) -> PreparedOperation:
        """Choose the operation and check its cost; RequestRejected if it may not run.

        Parses the document itself if `read` was not awaited before.
        """
        try:
            document = self._find_document(request)
            if document.errors:
                raise RequestRejected(*document.errors)
            operation = choose_operation(document.operations, request.operation_name)
            if operation.introspects and not introspection:
                raise rejection_error(
                    "Introspection is not open to you.", ErrorCode.INTROSPECTION_DISABLED
                )
            cost = check_cost(operation, request.variables, self.limits)
        except GraphQLError as error:
            raise RequestRejected(format_request_error(error)) from None
        variables = operation.declared_variables(request.variables)
        token = request.consistency_token
        return PreparedOperation(document, operation, variables, cost, token)

    async def run(
        self, prepared: PreparedOperation, context: object, request_id: str
    ) -> OperationResult:
        """Execute a prepared operation; errors are masked, and only cancellation is raised."""
        meter = self._begin_meter()
        measure = prepared.operation.measure
        if measure.introspection_values > self.limits.introspection_beside:
            result = await self._begin_in_thread(prepared, context)
        else:
            result = self._executor(prepared, context)
        if type(result) is not ExecutionResult and isawaitable(result):
            # Large variables were read, and resolvers read them again: other tasks run in between.
            try:
                await sleep(0)
            except CancelledError:
                _cancel_at_next_wait()
            result = await result
        return self._format_metered(result, meter, request_id)

    async def _begin_in_thread(self, prepared: PreparedOperation, context: object) -> Outcome:
        """Begin in a thread an operation that only reads a large description of the schema."""
        loop = get_running_loop()
        return await loop.run_in_executor(graphql_thread, self._executor, prepared, context)

    async def events(
        self, prepared: PreparedOperation, context: object, request_id: str
    ) -> AsyncGenerator[object]:
        """Yield the events of a prepared subscription; RequestRejected if there can be no more."""
        try:
            source = self._interpreter.open_events(prepared, context)
            if isawaitable(source):
                source = await source
            if isinstance(source, ExecutionResult):
                raise RequestRejected(*self.format_answer(source, request_id).body["errors"])
            async with aclosing(source) as events:
                async for event in events:
                    yield event
        except RequestRejected:
            raise
        except PenstockError as error:
            raise RequestRejected(format_known_error(error)) from None
        except Exception as error:
            raise RequestRejected(mask_internal_error(error, request_id)) from None

    async def run_event(
        self, prepared: PreparedOperation, event: object, context: object, request_id: str
    ) -> OperationResult:
        """Execute a prepared subscription for one of its events."""
        meter = self._begin_meter()
        result = self._executor(prepared, context, event)
        if isawaitable(result):
            result = await result
        return self._format_metered(result, meter, request_id)

    def _begin_meter(self) -> AnswerMeter:
        """Set the meter of the answer that this task is about to make."""
        limits = self.limits
        meter = AnswerMeter(limits.answer_values, most_bytes=limits.answer_bytes)
        answer_meter.set(meter)
        return meter

    def _format_metered(
        self, result: ExecutionResult, meter: AnswerMeter, request_id: str
    ) -> OperationResult:
        """Format a result as an answer, or refuse it if it is too large."""
        most, size = self.limits.answer_bytes, meter.written_bytes
        if meter.values > meter.most:
            refusal = f"The answer holds more than {meter.most} values."
            return _refuse_answer(refusal, _answer_units(int(meter.most), size))
        if self._written and not result.errors and meter.bound + size <= most:
            return _write_answer(result.data, meter)
        size += count_bytes(result.data, most - size)
        units = _answer_units(meter.values, size)
        if size > most:
            return _refuse_answer(f"The answer holds more than {most} bytes.", units)
        if not result.errors:
            return OperationResult({"data": result.data}, None, size, units)
        answer = self.format_answer(result, request_id)
        if self._written and "data" in answer.body:
            answer.body["data"] = _write_answer(result.data, meter).body["data"]
        return OperationResult(answer.body, answer.retry_after, size, units)

    def format_answer(self, result: ExecutionResult, request_id: str) -> OperationResult:
        """Format a result as an answer; `data` is absent if execution never began."""
        if not result.errors:
            return OperationResult({"data": result.data})
        errors, retry_after = report_errors(result.errors, request_id, self.limits.errors)
        began = result.data is not None or any(error.path for error in result.errors)
        body = {"errors": errors, "data": result.data} if began else {"errors": errors}
        return OperationResult(body, retry_after)

    def _find_document(self, request: OperationRequest) -> ParsedDocument:
        if request.query is None:
            return self._documents.get(self._find_persisted(request))
        digest = read_digest(request.extensions)
        self._persisted.check_text(request.query, digest)
        document = self._documents.get(request.query)
        if digest is not None and not document.errors:
            self._persisted.remember(request.query, digest)
        return document

    def _find_persisted(self, request: OperationRequest) -> str:
        """Find the text that a request names by an id; GraphQLError if there is none."""
        digest = read_digest(request.extensions)
        document_id = request.document_id or digest
        if document_id is None:
            raise rejection_error("There is no query to run.", ErrorCode.BAD_REQUEST)
        return self._persisted.find_text(document_id)
