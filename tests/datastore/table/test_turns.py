"""Transactions that meet take turns, and those that wait go together, as if one by one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.errors import LimitExceeded, RequestRefused, Unavailable
from penstock.datastore.table.instrumentation import StoreCall, report_call
from penstock.datastore.table.limits import guard_transact
from penstock.datastore.table.port import (
    Compare,
    ConditionFailed,
    Exists,
    FailedCheck,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Update,
)
from penstock.datastore.table.turns import TransactionTurns
from tests.datastore.table.in_memory_table import (
    Failure,
    Items,
    apply_transaction,
    require_success,
    serial_outcomes,
)
from tests.datastore.table.random_operations import stored_items, transactions
from tests.support.loop_clock import LONG, let_tasks_run, pass_time

HOT, OTHER = Key("H", "H"), Key("O", "O")


def add(key: Key = HOT, **more: Any) -> Update:
    return Update(key=key, add={"n": 1}, **more)


def put(name: str) -> Put:
    return Put({"pk": "P", "sk": name}, Missing())


class HeldTable:
    """Items behind turns; each transaction that is sent waits until it is let go."""

    def __init__(self, items: Items | None = None) -> None:
        self.items: Items = items or {}
        self.sent: list[Sequence[Operation]] = []
        self.failure: Exception | None = None
        self.turns = TransactionTurns(self.send, lambda operations, _: [1.0] * len(operations))
        self._free = asyncio.Semaphore(0)

    async def send(self, operations: Sequence[Operation], until: float) -> None:
        guard_transact(operations)
        self.sent.append(operations)
        await self._free.acquire()
        if self.failure is not None and len(operations) > 1:
            raise self.failure
        require_success(operations, apply_transaction(self.items, operations))

    def begin(self, *operations: Operation, seconds: float = LONG) -> asyncio.Task[float]:
        sizes = guard_transact(operations)
        return asyncio.create_task(self.turns.transact(operations, sizes, seconds))

    async def let_go(self, transactions: int = 100) -> None:
        for _ in range(transactions):
            self._free.release()
        await let_tasks_run()

    @property
    def keys(self) -> list[list[Key]]:
        """The items of each transaction that was sent."""
        return [[operation.key for operation in operations] for operations in self.sent]


async def outcomes_of(tasks: Sequence[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*tasks, return_exceptions=True)


def asked_transactions() -> st.SearchStrategy[list[Sequence[Operation]]]:
    """Some transactions, of which some may be asked for twice."""
    once = st.lists(transactions(), min_size=2, max_size=3)
    return st.tuples(once, st.integers(0, 2)).map(
        lambda drawn: [*drawn[0], *drawn[0][: drawn[1]]][:5]
    )


@settings(max_examples=150, deadline=None)
@given(stored_items(), asked_transactions(), st.randoms())
def test_transactions_end_as_in_some_order_one_by_one(
    items: Items, asked: list[Sequence[Operation]], dice: Any
) -> None:
    async def transact() -> tuple[list[Failure], Items]:
        left = dict(items)

        async def send(operations: Sequence[Operation], _: float) -> None:
            guard_transact(operations)
            for _ in range(dice.randrange(4)):
                await asyncio.sleep(0)
            require_success(operations, apply_transaction(left, operations))

        turns = TransactionTurns(send, lambda operations, _: [1.0] * len(operations))
        calls = (turns.transact(each, guard_transact(each), LONG) for each in asked)
        found = await outcomes_of(list(calls))
        failures = [each.failed if isinstance(each, ConditionFailed) else each for each in found]
        return [each if isinstance(each, tuple) else () for each in failures], left

    assert asyncio.run(transact()) in list(serial_outcomes(items, asked))


async def test_transactions_on_other_items_do_not_wait() -> None:
    table = HeldTable()
    tasks = [table.begin(add(HOT)), table.begin(add(OTHER))]
    await let_tasks_run()
    assert table.keys == [[HOT], [OTHER]]
    await table.let_go()
    assert await outcomes_of(tasks) == [1.0, 1.0]


async def test_those_that_wait_go_together() -> None:
    table = HeldTable()
    tasks = [table.begin(put(f"{number}"), add()) for number in range(4)]
    await let_tasks_run()
    assert table.keys == [[Key("P", "0"), HOT]]
    await table.let_go(1)
    assert table.keys[1:] == [[Key("P", "1"), HOT, Key("P", "2"), Key("P", "3")]]
    assert not any(task.done() for task in tasks[1:])
    await table.let_go()
    assert await outcomes_of(tasks) == [2.0, *[1 + 1 / 3] * 3]
    assert table.items[HOT]["n"] == 4
    assert table.turns._queues == {}


async def test_as_many_go_together_as_a_transaction_holds() -> None:
    table = HeldTable()
    tasks = [
        table.begin(add(), *(put(f"{number} {each}") for each in range(30))) for number in range(6)
    ]
    await let_tasks_run()
    await table.let_go()
    assert [len(keys) for keys in table.keys] == [31, 91, 61]
    assert len(await outcomes_of(tasks)) == table.items[HOT]["n"] == 6


async def test_one_that_cannot_join_goes_before_those_behind_it() -> None:
    table = HeldTable()
    replaced = Put({**HOT._asdict(), "n": 10})
    tasks = [table.begin(each) for each in (add(), replaced, add(), add())]
    await let_tasks_run()
    await table.let_go()
    assert [operation for (operation,) in table.sent] == [
        add(),
        replaced,
        Update(key=HOT, add={"n": 2}),
    ]
    assert await outcomes_of(tasks) == [1.0, 1.0, 0.5, 0.5]
    assert table.items[HOT]["n"] == 12


async def test_one_waits_for_all_its_items_and_nobody_overtakes_it() -> None:
    table = HeldTable()
    both = [Put({**HOT._asdict(), "n": 5}), Put({**OTHER._asdict(), "n": 5})]
    tasks = [table.begin(add(HOT)), table.begin(*both), table.begin(add(OTHER))]
    await let_tasks_run()
    assert table.keys == [[HOT]]
    await table.let_go()
    assert table.keys == [[HOT], [HOT, OTHER], [OTHER]]
    assert await outcomes_of(tasks) == [1.0, 2.0, 1.0]
    assert (table.items[HOT]["n"], table.items[OTHER]["n"]) == (5, 6)


async def test_a_refused_member_alone_is_told_and_the_others_succeed() -> None:
    standing: Item = {"pk": "P", "sk": "1"}
    table = HeldTable({HOT: {**HOT._asdict(), "n": 0}, Key("P", "1"): standing})
    tasks = [table.begin(add(condition=Exists()), put(f"{number}")) for number in (0, 2, 1, 3)]
    await let_tasks_run()
    await table.let_go()
    found = await outcomes_of(tasks)
    assert [found[0], found[1], found[3]] == [2.0, 1.5, 1.5]
    assert found[2].failed == (FailedCheck(1, standing),)
    assert found[2].units == 4.0
    assert table.items[HOT]["n"] == 3
    assert sorted(key.sk for key in table.items if key.pk == "P") == ["0", "1", "2", "3"]


async def test_those_that_put_the_same_missing_item_are_one_request_of_which_one_succeeds() -> None:
    table = HeldTable({OTHER: {"pk": "O", "sk": "O", "n": 1}})
    opened: Item = {"pk": "P", "sk": "p", "n": 0}

    def begin_one() -> asyncio.Task[float]:
        return table.begin(Put(opened, Missing()), add(OTHER, condition=Exists()))

    ahead = table.begin(add(OTHER))
    tasks = [ahead, begin_one(), begin_one(), table.begin(add(OTHER)), begin_one()]
    await table.let_go()
    found = await outcomes_of(tasks)
    assert [one for one in found if isinstance(one, float)] == [1.0, 1.0 + 1 / 2, 1 / 2]
    refused = [one for one in found if isinstance(one, ConditionFailed)]
    assert [(one.failed, one.units) for one in refused] == [((FailedCheck(0, opened),), 0.0)] * 2
    assert table.keys == [[OTHER], [Key("P", "p"), OTHER]]
    assert table.items[OTHER]["n"] == 4


async def test_copies_of_one_that_is_refused_are_told_the_same() -> None:
    standing: Item = {"pk": "P", "sk": "p", "n": 7}
    table = HeldTable({Key("P", "p"): standing})
    ahead = table.begin(add(OTHER))
    tasks = [table.begin(put("p"), add(OTHER)) for _ in range(3)]
    late = table.begin(add(OTHER))
    await table.let_go()
    assert await outcomes_of([ahead, late]) == [1.0, 1.0]
    for failure in await outcomes_of(tasks):
        assert isinstance(failure, ConditionFailed)
        assert failure.failed == (FailedCheck(0, standing),)
    assert table.keys == [[OTHER], [Key("P", "p"), OTHER], [OTHER]]
    assert table.items[OTHER]["n"] == 2


async def test_a_counter_that_does_not_hold_enough_for_all_is_lowered_by_those_it_does() -> None:
    table = HeldTable({HOT: {**HOT._asdict(), "n": 3}})
    lowered = Update(key=HOT, add={"n": -1}, condition=Compare("n", ">", 1))
    tasks = [table.begin(put("x"), add(OTHER)), *(table.begin(lowered) for _ in range(4))]
    await let_tasks_run()
    await table.let_go()
    found = await outcomes_of(tasks)
    assert found[1:3] == [1.0, 1.0]
    left: Item = {**HOT._asdict(), "n": 1}
    assert [each.failed for each in found[3:]] == [(FailedCheck(0, left),)] * 2
    assert table.items[HOT] == left


@pytest.mark.parametrize(
    "failure",
    [LimitExceeded("bytes", 1, 2), RequestRefused("TransactWriteItems", "ValidationException", "")],
)
async def test_an_error_that_one_may_have_caused_is_not_told_to_the_others(
    failure: Exception,
) -> None:
    table = HeldTable()
    table.failure = failure
    tasks = [table.begin(add()), table.begin(add()), table.begin(add(), put("wrong"))]
    await let_tasks_run()
    await table.let_go()
    assert await outcomes_of(tasks) == [1.0, 1.0, failure]
    assert table.items == {HOT: {**HOT._asdict(), "n": 2}}


async def test_an_error_of_the_store_is_told_to_all_who_were_sent_together() -> None:
    table = HeldTable()
    table.failure = Unavailable("The store did not answer.")
    tasks = [table.begin(add()), table.begin(add(), put("1")), table.begin(add(), put("2"))]
    await let_tasks_run()
    await table.let_go()
    assert await outcomes_of(tasks) == [1.0, table.failure, table.failure]
    assert len(table.sent) == 2


async def test_one_that_is_cancelled_while_it_waits_is_not_sent() -> None:
    table = HeldTable()
    tasks = [table.begin(add(), put(f"{number}")) for number in range(4)]
    await let_tasks_run()
    tasks[2].cancel()
    await table.let_go()
    found = await outcomes_of(tasks)
    assert isinstance(found[2], asyncio.CancelledError)
    assert [found[0], found[1], found[3]] == [2.0, 1.5, 1.5]
    assert table.items[HOT]["n"] == 3
    assert Key("P", "2") not in table.items


async def test_one_that_is_cancelled_while_it_is_sent_leaves_the_others() -> None:
    table = HeldTable()
    tasks = [table.begin(add(), put(f"{number}")) for number in range(4)]
    await let_tasks_run()
    await table.let_go(1)
    tasks[2].cancel()
    await table.let_go()
    found = await outcomes_of(tasks)
    assert isinstance(found[2], asyncio.CancelledError)
    assert [found[0], found[1], found[3]] == [2.0, 1 + 1 / 3, 1 + 1 / 3]
    assert table.items[HOT]["n"] == 4


async def test_a_request_for_which_nobody_waits_is_broken_off() -> None:
    table = HeldTable()
    tasks = [table.begin(add()), table.begin(add())]
    await let_tasks_run()
    tasks[0].cancel()
    await let_tasks_run()
    assert len(table.sent) == 2
    await table.let_go(1)
    assert isinstance((await outcomes_of(tasks))[0], asyncio.CancelledError)
    assert table.items[HOT]["n"] == 1
    assert table.turns._queues == {}


async def test_one_that_is_cancelled_at_once_leaves_nothing() -> None:
    table = HeldTable()
    first = table.begin(add())
    await asyncio.sleep(0)
    first.cancel()
    second = table.begin(add())
    await table.let_go()
    assert await second == 1.0
    assert table.items[HOT]["n"] == 1
    assert table.turns._queues == {}


async def test_one_whose_time_ends_before_its_turn_is_told_for_what_it_waited() -> None:
    table = HeldTable()
    tasks = [table.begin(add()), table.begin(add(), put("late"), seconds=LONG / 2)]
    await pass_time(LONG / 2)
    with pytest.raises(Unavailable, match=r"waited 500 seconds for its turn"):
        await tasks[1]
    await table.let_go()
    assert await tasks[0] == 1.0
    assert table.items == {HOT: {**HOT._asdict(), "n": 1}}


async def test_a_call_is_told_how_long_it_waited_and_whether_it_was_merged() -> None:
    table = HeldTable()
    calls = [StoreCall("transact", 1) for _ in range(3)]

    async def transact(call: StoreCall) -> None:
        with report_call(call, ()):
            await table.begin(add())

    tasks = [asyncio.create_task(transact(call)) for call in calls]
    await pass_time(LONG / 2)
    await table.let_go()
    await asyncio.gather(*tasks)
    assert [call.merged for call in calls] == [False, False, True]
    assert [(call.waited or 0) >= LONG / 2 for call in calls] == [False, True, True]


async def test_closing_waits_for_what_was_begun() -> None:
    table = HeldTable()
    tasks = [table.begin(add()), table.begin(add())]
    await let_tasks_run()
    closing = asyncio.create_task(table.turns.close())
    await let_tasks_run()
    assert not closing.done()
    await table.let_go()
    await closing
    assert [task.done() for task in tasks] == [True, True]
    assert table.items[HOT]["n"] == 2


async def test_many_waits_end_in_few_requests_and_in_order() -> None:
    table = HeldTable()
    ended: list[int] = []

    def note(number: int) -> Callable[[asyncio.Task[float]], None]:
        return lambda _: ended.append(number)

    tasks = [table.begin(add(), put(f"{number}")) for number in range(200)]
    for number, task in enumerate(tasks):
        task.add_done_callback(note(number))
    await let_tasks_run()
    await table.let_go()
    assert len(await outcomes_of(tasks)) == table.items[HOT]["n"] == 200
    assert [len(keys) for keys in table.keys] == [2, 100, 100, 2]
    assert ended == [*range(200)]
