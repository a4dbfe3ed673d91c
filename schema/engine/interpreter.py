"""Operations that graphql-core interprets, and the events of subscriptions."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, Protocol, TypeAlias, TypeGuard, cast

from graphql import ExecutionResult, create_source_event_stream, execute
from graphql import Executor as CoreExecutor
from strawberry import Schema
from strawberry.execution import optimized_is_awaitable

from penstock.graphql_jit import MeteredExecutor
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import PreparedOperation

Outcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]
_Source: TypeAlias = AsyncGenerator[Any] | ExecutionResult

is_awaitable: Final = cast("Callable[[object], TypeGuard[Awaitable[Any]]]", optimized_is_awaitable)


class Executor(Protocol):
    """Runs a prepared operation with a context value and, for events, a root value."""

    def __call__(
        self, prepared: PreparedOperation, context: object, root: object = None, /
    ) -> Outcome: ...


def metered_executor(schema: Schema) -> type[CoreExecutor[Any]]:
    """Make the executor class of a schema that counts the values of answers."""
    own = schema.execution_context_class
    return type(own.__name__, (MeteredExecutor, own), {})


class Interpreter:
    """Runs operations with graphql-core, as Strawberry does without extensions."""

    __slots__ = ("_coercion_errors", "_executor_class", "_hides_suggestions", "_schema")

    def __init__(self, schema: Schema, limits: Limits) -> None:
        self._schema = core_schema(schema)
        self._executor_class = metered_executor(schema)
        self._coercion_errors = limits.errors
        self._hides_suggestions = not limits.suggestions

    def __call__(
        self, prepared: PreparedOperation, context: object, root: object = None, /
    ) -> ExecutionResult | Awaitable[ExecutionResult]:
        return execute(
            self._schema,
            prepared.ast,
            root_value=root,
            context_value=context,
            variable_values=prepared.variables,
            operation_name=prepared.operation.name,
            max_coercion_errors=self._coercion_errors,
            executor_class=self._executor_class,
            is_awaitable=is_awaitable,
            hide_suggestions=self._hides_suggestions,
        )

    def open_events(
        self, prepared: PreparedOperation, context: object
    ) -> _Source | Awaitable[_Source]:
        """Open the event stream of a subscription, or return the errors that prevent it."""
        executor = CoreExecutor.build(
            self._schema,
            prepared.ast,
            context_value=context,
            raw_variable_values=prepared.variables,
            operation_name=prepared.operation.name,
            max_coercion_errors=self._coercion_errors,
            is_awaitable=is_awaitable,
            hide_suggestions=self._hides_suggestions,
        )
        if isinstance(executor, list):
            return ExecutionResult(errors=executor)
        # Every event source in Penstock is a generator, which can be closed.
        return cast("_Source | Awaitable[_Source]", create_source_event_stream(executor))
