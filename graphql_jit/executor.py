"""Operations of a schema, each compiled once and run any number of times."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    GraphQLError,
    OperationDefinitionNode,
    Undefined,
    assert_valid_schema,
    execute,
)
from graphql.execution.values import VariableValues

from penstock.graphql_jit.codegen import OperationPlan, compile_operation
from penstock.graphql_jit.plan import (
    ExecutionOptions,
    ExecutionOutcome,
    FallbackReason,
    OperationInfo,
    PlanRoom,
    Unplannable,
)
from penstock.graphql_jit.planner import Planner
from penstock.graphql_jit.scheduler import (
    WaitingGroup,
    abandon_waiting,
    complete_ready_batches,
    complete_waiting,
)
from penstock.graphql_jit.state import OperationState, PlanStep
from penstock.graphql_jit.variables import OperationVariables


def no_pause() -> None:
    """Go on with the next piece at once."""


class CompiledOperation:
    """One operation of a document, for one schema.

    `fallbacks` counts by reason the executions that graphql-core ran instead. ODD_VALUE counts
    those in which it completed some values, because generated code does not handle their types.
    """

    __slots__ = (
        "_conditions",
        "_document",
        "_fallbacks",
        "_operation",
        "_options",
        "_plans",
        "_room",
        "_runs",
        "_unplannable_reason",
        "_variables",
    )

    def __init__(
        self,
        options: ExecutionOptions,
        document: DocumentNode,
        operation: OperationDefinitionNode,
        fallbacks: "Counter[FallbackReason]",
        room: PlanRoom | None = None,
    ) -> None:
        assert_valid_schema(options.schema)
        self._options = options
        self._document = document
        self._operation = OperationInfo(operation, _fragments_of(document))
        self._variables = OperationVariables(options, operation)
        self._fallbacks = fallbacks
        self._room = room
        self._plans: dict[tuple[Any, ...], OperationPlan | FallbackReason] = {}
        self._conditions: tuple[str, ...] = ()
        self._unplannable_reason: FallbackReason | None = None
        self._runs = 0
        try:
            self._conditions = self._operation.condition_variables()
        except Unplannable as unplannable:
            self._unplannable_reason = unplannable.reason

    def __call__(
        self, variables: Mapping[str, Any], context: object = None, root: object = None
    ) -> ExecutionOutcome:
        """Execute the operation; it raises only the exceptions of graphql-core's `execute`."""
        values = self.coerce_variables(variables)
        if isinstance(values, list):
            return ExecutionResult(None, errors=values)
        return self.execute(values, context, root)

    def coerce_variables(self, variables: Mapping[str, Any]) -> VariableValues | list[GraphQLError]:
        """Coerce the variables of a request."""
        return self._variables.coerce(variables)

    def is_ready(self, values: VariableValues) -> bool:
        """Return whether an execution with these variables needs no compilation."""
        return self._fallback_reason(values) is not None or self._key(values) in self._plans

    def prepare(self, values: VariableValues, pause: Callable[[], None] = no_pause) -> None:
        """Compile the plan for these variables; this can take milliseconds.

        `pause` is called between its pieces, so that a thread can let others go on.
        """
        if self._fallback_reason(values) is None:
            self._plan(values, pause)

    def execute(self, values: VariableValues, context: object, root: object) -> ExecutionOutcome:
        """Execute the operation with coerced variables."""
        plan = self._plans.get(self._key(values))
        if plan is None:
            plan = self._fallback_reason(values) or self._plan(values)
            self._runs += 1
        if isinstance(plan, FallbackReason):
            return self.interpret(values, context, root, plan)
        run = OperationState(self._options, self._operation, values, context, root)
        run.meter.bound += plan.most_bytes
        return self._run_steps(plan, run)

    def _fallback_reason(self, values: VariableValues) -> FallbackReason | None:
        """Return the reason why an execution gets no plan, if there is one."""
        if self._unplannable_reason is not None:
            return self._unplannable_reason
        if self._runs < self._options.interpreted_runs:
            return FallbackReason.FIRST_RUN
        key = self._key(values)
        if key not in self._plans and len(self._plans) >= self._options.max_plans:
            return FallbackReason.TOO_MANY_CONDITIONS
        return None

    def _key(self, values: VariableValues) -> tuple[Any, ...]:
        if not self._conditions:
            return ()
        return tuple(values.coerced.get(name, Undefined) for name in self._conditions)

    def _plan(
        self, values: VariableValues, pause: Callable[[], None] = no_pause
    ) -> OperationPlan | FallbackReason:
        """Return the plan for these variables, or the reason why there is none."""
        key = self._key(values)
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = self._compile_plan(values, pause)
        return found

    def _compile_plan(
        self, values: VariableValues, pause: Callable[[], None]
    ) -> OperationPlan | FallbackReason:
        options = self._options
        planner = Planner(options, self._operation, values, self._room)
        try:
            return compile_operation(
                planner.plan_root(), self._operation.operation.operation, options, pause
            )
        except Unplannable as unplannable:
            return unplannable.reason
        except GraphQLError:
            return FallbackReason.INVALID_DIRECTIVE
        except (RecursionError, SyntaxError, MemoryError):
            return FallbackReason.TOO_DEEP

    def _run_steps(self, plan: OperationPlan, run: OperationState) -> ExecutionOutcome:
        """Run the steps until one has to be awaited."""
        done: dict[str, Any] = {}
        for index, step in enumerate(plan.steps):
            if not run.begin_step(step):
                abandon_waiting(run)
                return self._result(run, None)
            if (run.waiting or run.pending_values) and (groups := complete_ready_batches(run)):
                return self._finish_steps(plan.steps[index + 1 :], run, done, groups)
            if run.data is None:
                return self._result(run, None)
            done.update(run.data)
        return self._result(run, done)

    async def _finish_steps(
        self,
        steps: tuple[PlanStep, ...],
        run: OperationState,
        done: dict[str, Any],
        groups: list[WaitingGroup],
    ) -> ExecutionResult:
        """Await the current step, then run and await each of the others."""
        await complete_waiting(run, groups)
        for step in steps:
            if run.data is None:
                break
            done.update(run.data)
            if not run.begin_step(step):
                abandon_waiting(run)
                break
            await complete_waiting(run)
        return self._result(run, None if run.data is None else {**done, **run.data})

    def _result(self, run: OperationState, data: dict[str, Any] | None) -> ExecutionResult:
        if run.odd_values:
            self._fallbacks[FallbackReason.ODD_VALUE] += 1
        return run.result(data)

    def interpret(
        self, values: VariableValues, context: object, root: object, reason: FallbackReason
    ) -> ExecutionOutcome:
        """Let graphql-core execute the operation, for this reason."""
        self._fallbacks[reason] += 1
        options, name = self._options, self._operation.operation.name
        sources = values.sources.items()
        return execute(
            options.schema,
            self._document,
            root_value=root,
            context_value=context,
            variable_values={
                name: source.value for name, source in sources if source.value is not Undefined
            },
            operation_name=None if name is None else name.value,
            field_resolver=options.field_resolver,
            type_resolver=options.type_resolver,
            max_coercion_errors=options.max_coercion_errors,
            executor_class=options.executor_class,
            is_awaitable=options.is_awaitable,
            is_async_iterable=options.is_async_iterable,
            hide_suggestions=options.hide_suggestions,
        )


def _fragments_of(document: DocumentNode) -> dict[str, FragmentDefinitionNode]:
    return {
        node.name.value: node
        for node in document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
