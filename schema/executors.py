"""Two ways to run a prepared operation: compiled, and by graphql-core."""

from asyncio import get_running_loop
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeGuard, cast

from graphql import DocumentNode, ExecutionResult, create_source_event_stream, execute
from graphql import Executor as CoreExecutor
from graphql.execution.values import VariableValues
from strawberry import Schema
from strawberry.execution import optimized_is_awaitable

from penstock.execution import Compiled, Options, Reason
from penstock.execution.written import written_of
from penstock.schema.documents import core_schema
from penstock.schema.limits import Limits

if TYPE_CHECKING:
    from penstock.schema.execution import Prepared

Outcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]
_Source: TypeAlias = AsyncGenerator[Any] | ExecutionResult

LONG: Final = 1_000
"""Documents of more characters are read, checked and compiled in a thread."""

# One thread: several would keep the event loop waiting for the interpreter's lock.
aside: Final = ThreadPoolExecutor(1, "graphql")

_is_awaitable: Final = cast("Callable[[object], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


class Executor(Protocol):
    """Runs a prepared operation against a context value and, for events, a root value."""

    def __call__(
        self, prepared: "Prepared", context: object, root: object = None, /
    ) -> Outcome: ...


class CompiledExecutor:
    """Runs operations as plans, which are kept with their documents.

    The first `interpreted_runs` of each operation are left to graphql-core: a document that comes
    once is not worth a plan. Data is plain unless it may be what orjson writes (`written`).
    `fallbacks` counts why operations were not run compiled.
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
    """Runs operations with graphql-core, as Strawberry would without extensions."""

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
        """Open the events of a subscription, or give the errors that keep it from having any."""
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
        # Every source of ours is a generator, which can be closed.
        return cast("_Source | Awaitable[_Source]", create_source_event_stream(executor))


def _ast(prepared: "Prepared") -> DocumentNode:
    if prepared.document.ast is None:
        raise ValueError("a document with errors cannot be run")
    return prepared.document.ast
