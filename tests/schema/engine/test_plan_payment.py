"""A caller pays for each field of a plan that is compiled, and has none made while in debt."""

from asyncio import get_running_loop

import pytest
from graphql import get_introspection_query, is_interface_type

from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.graphql_jit import FallbackReason
from penstock.resolvers.context import Context
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.engine import MANY_FIELDS, CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from tests.support.graphql_client import CURSORS, ROOT
from tests.support.work_account import Account

UNITS = 5
LIMITS = Limits()
SHORT = "{ viewer { userId roles { group role } } }"
USES = " ".join(f"u{n}: viewer {{ ...F }}" for n in range(26))
LONG = f"{{ {USES} }} fragment F on Viewer {{ userId roles {{ group role }} }}"
OF_A_NODE = '{ node(id: "nothing") { id } }'


class House:
    """An engine as in production, which counts what an account pays for its operations."""

    def __init__(self, store: Store) -> None:
        self.executor = CompiledExecutor(schema, LIMITS, interpreted_runs=1)
        self._engine = GraphQLEngine(schema, LIMITS, executor=self.executor)
        self._store = store

    async def run(self, text: str, account: Account) -> None:
        prepared = self._engine.prepare(OperationRequest(text))
        changes = RowChanges(self._store.table)
        context = Context.open(self._store, ROOT, CURSORS, changes, account)
        answer = await self._engine.run(prepared, context, "id")
        assert "errors" not in answer.body

    async def pay(self, text: str) -> list[int]:
        """Run a text three times; returns what the second and the third run paid."""
        await self.run(text, Account())
        accounts = [Account(), Account()]
        for account in accounts:
            await self.run(text, account)
        return [account.taken + account.owed for account in accounts]


@pytest.fixture
def house(store: Store) -> House:
    return House(store)


@pytest.mark.parametrize(("text", "fields"), [(SHORT, 5), (LONG, 26 * 5)])
async def test_the_run_that_compiles_pays_for_each_field_and_the_next_ones_nothing(
    house: House, text: str, fields: int
) -> None:
    assert (fields > MANY_FIELDS) is (text is LONG)
    assert await house.pay(text) == [fields * UNITS, 0]


async def test_the_fields_of_each_type_that_an_object_may_have_are_paid(house: House) -> None:
    interface = core_schema(schema).type_map["Node"]
    assert is_interface_type(interface)
    types = len(core_schema(schema).get_possible_types(interface))
    assert await house.pay(OF_A_NODE) == [(1 + types) * UNITS, 0]


@pytest.mark.parametrize("text", [SHORT, LONG])
async def test_a_caller_in_debt_has_no_plan_made_and_is_answered(house: House, text: str) -> None:
    await house.run(text, Account())
    poor = Account(most=0)
    for _ in range(3):
        await house.run(text, poor)
    assert house.executor.fallbacks == {FallbackReason.FIRST_RUN: 1, FallbackReason.UNPAID: 3}
    assert poor.taken + poor.owed == 0
    rich = Account()
    await house.run(text, rich)
    assert rich.taken > 0


class LoopAccount(Account):
    """An account that is used on the event loop only, as those of callers."""

    def spend_more(self, units: int) -> None:
        get_running_loop()
        super().spend_more(units)


async def test_the_description_of_the_schema_has_no_plan_for_which_a_thread_would_pay(
    house: House,
) -> None:
    for _ in range(3):
        await house.run(get_introspection_query(), LoopAccount())
    reasons = {FallbackReason.FIRST_RUN: 1, FallbackReason.INTROSPECTION: 2}
    assert house.executor.fallbacks == reasons
