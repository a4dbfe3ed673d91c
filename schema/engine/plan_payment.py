"""The payment for a compiled plan by the caller whose operation needs it."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import sleep

from graphql.execution.values import VariableValues

from penstock.datastore.access.work import FREE_WORK
from penstock.datastore.errors import RateLimited
from penstock.graphql_jit import CompiledOperation, FallbackReason, no_pause
from penstock.resolvers.context import Context
from penstock.schema.engine.cost import plan_cost
from penstock.schema.engine.operations import PreparedOperation


class PlanPayment:
    """Pays for a plan: by the fields that the operation has, and then by those that it got.

    Raises RateLimited before anything is compiled. A plan has a copy of the fields of an abstract
    type for each possible one.
    """

    __slots__ = ("_measured", "_room", "_work")

    def __init__(self, prepared: PreparedOperation, context: object) -> None:
        self._work = context.session.work if isinstance(context, Context) else FREE_WORK
        self._room = prepared.document.room
        self._measured = prepared.operation.measure.fields
        self._work.spend_more(plan_cost(self._measured))

    def compile(self, operation: CompiledOperation, values: VariableValues) -> None:
        """Compile a small plan on the event loop."""
        self._work.owe(self._compile(operation, values, no_pause))

    def compile_in_thread(
        self, operation: CompiledOperation, values: VariableValues, loop: AbstractEventLoop
    ) -> None:
        """Compile the plan, for which its caller owes the rest also after going away.

        The thread gives up the interpreter's lock after each piece, so that the loop goes on.
        """
        units = self._compile(operation, values, partial(sleep, 0))
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._work.owe, units)

    def _compile(
        self, operation: CompiledOperation, values: VariableValues, pause: Callable[[], None]
    ) -> int:
        """Compile the plan; returns its units beyond those that were paid."""
        before = self._room.taken
        operation.prepare(values, pause)
        return max(0, plan_cost(self._room.taken - before - self._measured))


def pay_for_plan(prepared: PreparedOperation, context: object) -> PlanPayment | FallbackReason:
    """Pay for the plan of an operation, or return the reason for which it gets none."""
    if prepared.operation.introspects:
        return FallbackReason.INTROSPECTION
    if prepared.operation.measure.fields > prepared.document.room.fields:
        return FallbackReason.SIZE
    try:
        return PlanPayment(prepared, context)
    except RateLimited:
        return FallbackReason.UNPAID
