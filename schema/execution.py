"""From a request to its answer: find the document, check its limits, run it, mask its errors."""

from asyncio import get_running_loop, sleep
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from inspect import isawaitable
from types import MappingProxyType
from typing import Any

import msgspec
from graphql import (
    ExecutionResult,
    GraphQLError,
    OperationType,
)
from strawberry import Schema

from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.schema.documents import Document, Documents
from penstock.schema.errors import FormattedError, internal, known, report, request_error
from penstock.schema.executors import LONG, CompiledExecutor, Executor, Interpreter, Outcome, aside
from penstock.schema.limits import Limits, Operation, affordable, chosen, refused
from penstock.schema.persisted import Persisted, digest_of


class OperationRequest(msgspec.Struct, frozen=True):
    """What a client asks to run, whatever it came over."""

    query: str | None = None
    document_id: str | None = None
    operation_name: str | None = None
    variables: Mapping[str, Any] = MappingProxyType({})
    extensions: Mapping[str, Any] = MappingProxyType({})


class Prepared(msgspec.Struct, frozen=True):
    """An operation that may run: valid, within the limits, `cost` objects at the most."""

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
    """There is no result to answer with, only `errors`, in their answered form."""

    def __init__(self, *errors: FormattedError) -> None:
        super().__init__(errors[0]["message"])
        self.errors = list(errors)


class Answer(msgspec.Struct, frozen=True):
    """The `data` and `errors` of a response, and when to try again if the store was away."""

    body: dict[str, Any]
    retry_after: int | None = None


class Engine:
    """Runs the operations of one schema, compiled unless `executor` runs them in another way."""

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
        """How many checked documents are in memory."""
        return len(self._documents)

    @property
    def persisted_kept(self) -> int:
        """How many texts were sent with their digest and are in memory."""
        return self._persisted.kept

    def reads_aside(self, request: OperationRequest) -> bool:
        """Tell whether `read` has anything to do."""
        return request.query is not None and len(request.query) > LONG

    async def read(self, request: OperationRequest) -> None:
        """Read a long document in a thread, so that `prepare` finds it read and checked."""
        if request.query is not None and self.reads_aside(request):
            await self._documents.read(request.query, aside)

    def prepare(self, request: OperationRequest, *, introspection: bool = True) -> Prepared:
        """Settle what to run and what it costs; Refused where it may not run.

        Reads the document if `read` was not awaited before.
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
        """Execute a prepared operation; errors come back masked, only cancellation is raised."""
        measure = prepared.operation.measure
        if measure.introspection_values > self.limits.introspection_beside:
            result = await self._begun_aside(prepared, context)
        else:
            result = self._executor(prepared, context)
        if type(result) is not ExecutionResult and isawaitable(result):
            # Large variables have been read, and resolvers read them anew: others go in between.
            await sleep(0)
            result = await result
        return self.answer(result, request_id)

    async def _begun_aside(self, prepared: Prepared, context: object) -> Outcome:
        """Begin in a thread: a large description of the schema is all that there is."""
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
        """Give a result its answered form; `data` is absent when execution never began."""
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
