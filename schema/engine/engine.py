"""From a request to its answer: find the document, check its limits, run it, mask its errors.

An operation runs compiled, or is interpreted by graphql-core.
"""

from asyncio import get_running_loop, sleep
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from inspect import isawaitable
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, cast

import msgspec
from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    OperationType,
    create_source_event_stream,
    execute,
)
from graphql import Executor as CoreExecutor
from graphql.execution.values import VariableValues
from strawberry import Schema
from strawberry.execution import optimized_is_awaitable

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.graphql_jit import Compiled, Options, Reason
from penstock.graphql_jit.msgspec_lists import written_of
from penstock.schema.core.errors import FormattedError, internal, known, report, request_error
from penstock.schema.engine.documents import Document, Documents, Persisted, core_schema, digest_of
from penstock.schema.engine.limits import Limits, Operation, affordable, chosen, refused

Outcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]
_Source: TypeAlias = AsyncGenerator[Any] | ExecutionResult

LONG: Final = 1_000
"""Documents with more characters are parsed, checked and compiled in a thread."""

# One thread, since several would make the event loop wait for the interpreter's lock.
aside: Final = ThreadPoolExecutor(1, "graphql")

_is_awaitable: Final = cast("Callable[[object], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


class Executor(Protocol):
    """Runs a prepared operation with a context value and, for events, a root value."""

    def __call__(
        self, prepared: "Prepared", context: object, root: object = None, /
    ) -> Outcome: ...


class CompiledExecutor:
    """Runs operations as compiled plans, which are cached with their documents.

    The first `interpreted_runs` of each operation are left to graphql-core, since a plan is not
    worth its cost for a document that runs once. Data is plain unless it may be what orjson writes
    (`written`). `fallbacks` counts the reasons for which operations were not run compiled.
    """

    __slots__ = ("_options", "fallbacks")

    def __init__(
        self, schema: Schema, limits: Limits, *, interpreted_runs: int = 0, written: bool = False
    ) -> None:
        self.fallbacks: Counter[Reason] = Counter()
        self._options = Options(
            schema=core_schema(schema),
            is_awaitable=_is_awaitable,
            executor_class=schema.execution_context_class,
            max_coercion_errors=limits.errors,
            hide_suggestions=True,
            interpreted_runs=interpreted_runs,
            lists=written_of if written else None,
        )

    def __call__(self, prepared: "Prepared", context: object, root: object = None, /) -> Outcome:
        operation = self._operation(prepared)
        values = operation.values(prepared.variables)
        if isinstance(values, list):
            return ExecutionResult(errors=values)
        if len(prepared.document.text) > LONG and not operation.is_ready(values):
            return self._after_compiling(operation, values, context, root)
        return operation.execute(values, context, root)

    def _operation(self, prepared: "Prepared") -> Compiled:
        kept, name = prepared.document.compiled, prepared.operation.name
        found = kept.get(name)
        if found is None:
            node = prepared.operation.node
            found = kept[name] = Compiled(self._options, _ast(prepared), node, self.fallbacks)
        return found

    async def _after_compiling(
        self, operation: Compiled, values: VariableValues, context: object, root: object
    ) -> ExecutionResult:
        await get_running_loop().run_in_executor(aside, operation.prepare, values)
        result = operation.execute(values, context, root)
        return await result if isawaitable(result) else result


class Interpreter:
    """Runs operations with graphql-core, as Strawberry does without extensions."""

    __slots__ = ("_coercion_errors", "_executor_class", "_schema")

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = core_schema(schema)
        self._executor_class = schema.execution_context_class
        self._coercion_errors = limits.errors

    def __call__(
        self, prepared: "Prepared", context: object, root: object = None, /
    ) -> ExecutionResult | Awaitable[ExecutionResult]:
        return execute(
            self._schema,
            _ast(prepared),
            root_value=root,
            context_value=context,
            variable_values=prepared.variables,
            operation_name=prepared.operation.name,
            max_coercion_errors=self._coercion_errors,
            executor_class=self._executor_class,
            is_awaitable=_is_awaitable,
            hide_suggestions=True,
        )

    def source(self, prepared: "Prepared", context: object) -> _Source | Awaitable[_Source]:
        """Open the event stream of a subscription, or return the errors that prevent it."""
        executor = CoreExecutor.build(
            self._schema,
            _ast(prepared),
            context_value=context,
            raw_variable_values=prepared.variables,
            operation_name=prepared.operation.name,
            max_coercion_errors=self._coercion_errors,
            is_awaitable=_is_awaitable,
            hide_suggestions=True,
        )
        if isinstance(executor, list):
            return ExecutionResult(errors=executor)
        # Every event source in Penstock is a generator, which can be closed.
        return cast("_Source | Awaitable[_Source]", create_source_event_stream(executor))


def _ast(prepared: "Prepared") -> DocumentNode:
    if prepared.document.ast is None:
        raise ValueError("a document with errors cannot be run")
    return prepared.document.ast


class OperationRequest(msgspec.Struct, frozen=True):
    """An operation that a client requests, independent of the transport."""

    query: str | None = None
    document_id: str | None = None
    operation_name: str | None = None
    variables: Mapping[str, Any] = MappingProxyType({})
    extensions: Mapping[str, Any] = MappingProxyType({})


class Prepared(msgspec.Struct, frozen=True):
    """An operation that may run: valid, within the limits, and reading at most `cost` objects."""

    document: Document
    operation: Operation
    variables: dict[str, Any]
    cost: int

    @property
    def is_subscription(self) -> bool:
        return self.operation.kind is OperationType.SUBSCRIPTION

    @property
    def is_mutation(self) -> bool:
        return self.operation.kind is OperationType.MUTATION


class Refused(Exception):
    """The operation cannot run; `errors` are in the form of the answer."""

    def __init__(self, *errors: FormattedError) -> None:
        super().__init__(errors[0]["message"])
        self.errors = list(errors)


class Answer(msgspec.Struct, frozen=True):
    """The `data` and `errors` of a response, and the seconds to wait if the store was away."""

    body: dict[str, Any]
    retry_after: int | None = None


class Engine:
    """Runs the operations of one schema: compiled, unless another `executor` is given."""

    __slots__ = ("_documents", "_executor", "_interpreter", "_persisted", "limits")

    def __init__(
        self,
        schema: Schema,
        limits: Limits | None = None,
        *,
        persisted: Persisted | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._documents = Documents(schema, self.limits)
        self._persisted = persisted or Persisted()
        self._interpreter = Interpreter(schema, self.limits)
        self._executor = executor or CompiledExecutor(schema, self.limits)

    @property
    def documents_kept(self) -> int:
        """The number of checked documents in the cache."""
        return len(self._documents)

    @property
    def persisted_kept(self) -> int:
        """The number of texts that came with their digest and are in the cache."""
        return self._persisted.kept

    def reads_aside(self, request: OperationRequest) -> bool:
        """Tell whether the document is long enough for `read` to parse it in a thread."""
        return request.query is not None and len(request.query) > LONG

    async def read(self, request: OperationRequest) -> None:
        """Parse and check a long document in a thread, so that `prepare` finds it in the cache."""
        if request.query is not None and self.reads_aside(request):
            await self._documents.read(request.query, aside)

    def prepare(self, request: OperationRequest, *, introspection: bool = True) -> Prepared:
        """Choose the operation and check its cost; Refused if it may not run.

        Parses the document itself if `read` was not awaited before.
        """
        try:
            document = self._document(request)
            if document.errors:
                raise Refused(*document.errors)
            operation = chosen(document.operations, request.operation_name)
            if operation.introspects and not introspection:
                raise refused("Introspection is not open to you.", ErrorCode.INTROSPECTION_DISABLED)
            cost = affordable(operation, request.variables, self.limits)
        except GraphQLError as error:
            raise Refused(request_error(error)) from None
        return Prepared(document, operation, dict(request.variables), cost)

    async def run(self, prepared: Prepared, context: object, request_id: str) -> Answer:
        """Execute a prepared operation; errors are masked, and only cancellation is raised."""
        measure = prepared.operation.measure
        if measure.introspection_values > self.limits.introspection_beside:
            result = await self._begun_aside(prepared, context)
        else:
            result = self._executor(prepared, context)
        if type(result) is not ExecutionResult and isawaitable(result):
            # Large variables were read, and resolvers read them again: other tasks run in between.
            await sleep(0)
            result = await result
        return self.answer(result, request_id)

    async def _begun_aside(self, prepared: Prepared, context: object) -> Outcome:
        """Begin in a thread an operation that only reads a large description of the schema."""
        loop = get_running_loop()
        return await loop.run_in_executor(aside, self._executor, prepared, context)

    async def events(
        self, prepared: Prepared, context: object, request_id: str
    ) -> AsyncGenerator[object]:
        """Yield the events of a prepared subscription; Refused where none can be had any more."""
        try:
            source = self._interpreter.source(prepared, context)
            if isawaitable(source):
                source = await source
            if isinstance(source, ExecutionResult):
                raise Refused(*self.answer(source, request_id).body["errors"])
            async with aclosing(source) as events:
                async for event in events:
                    yield event
        except Refused:
            raise
        except PenstockError as error:
            raise Refused(known(error)) from None
        except Exception as error:
            raise Refused(internal(error, request_id)) from None

    async def run_event(
        self, prepared: Prepared, event: object, context: object, request_id: str
    ) -> Answer:
        """Execute a prepared subscription for one of its events."""
        result = self._executor(prepared, context, event)
        if isawaitable(result):
            result = await result
        return self.answer(result, request_id)

    def answer(self, result: ExecutionResult, request_id: str) -> Answer:
        """Format a result as an answer; `data` is absent if execution never began."""
        if not result.errors:
            return Answer({"data": result.data})
        errors, retry_after = report(result.errors, request_id, self.limits.errors)
        began = result.data is not None or any(error.path for error in result.errors)
        body = {"errors": errors, "data": result.data} if began else {"errors": errors}
        return Answer(body, retry_after)

    def _document(self, request: OperationRequest) -> Document:
        digest = digest_of(request.extensions)
        if request.query is None:
            document_id = request.document_id or digest
            if document_id is None:
                raise refused("There is no query to run.", ErrorCode.BAD_REQUEST)
            return self._documents.of(self._persisted.text_of(document_id))
        self._persisted.check(request.query, digest)
        document = self._documents.of(request.query)
        if digest is not None and not document.errors:
            self._persisted.remember(request.query, digest)
        return document
