"""Queries over rows take turns, are paid by processor time, and end when nobody waits for them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import LimitExceeded, NotPermitted, RateLimited
from penstock.datastore.executions.records import Execution
from penstock.datastore.kept_rows import database
from penstock.datastore.kept_rows import engine as engine_module
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.open_rows import QUERY_UNITS
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.kept_rows.plants import SUM, run_file
from tests.support.loop_clock import let_tasks_run, pass_time
from tests.support.patience import until
from tests.support.work_account import Account

LONG = "SELECT sum(a.range * b.range) FROM range(10_000_000) AS a, range(10_000_000) AS b"

LARGE = (
    "SELECT range FROM range(3_000_000) ORDER BY sha256(CAST(range AS VARCHAR)) OFFSET 2_999_999"
)


class HeldWork:
    """Work that waits in its thread until it is released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.released = threading.Event()

    def of(self, user: str) -> Any:
        def hold(_: object) -> str:
            self.begun.append(user)
            self.released.wait()
            return user

        return hold


async def test_one_caller_leaves_a_thread_to_others() -> None:
    engine, work = RowsEngine(), HeldWork()
    users = ["eve"] * 8 + ["bob"]
    running = [asyncio.create_task(engine.read(work.of(u), WorkPayer(u))) for u in users]
    await until(lambda: len(work.begun) == 2)
    assert sorted(work.begun) == ["bob", "eve"]
    work.released.set()
    assert await asyncio.gather(*running) == users


async def test_writing_parts_keeps_no_reader_waiting() -> None:
    engine, work = RowsEngine(), HeldWork()
    users = ["ann", "bob", "cid"]
    writing = [asyncio.create_task(engine.write(work.of(u), WorkPayer(u))) for u in users]
    await until(lambda: len(work.begun) == 2)
    assert await engine.read(lambda _: "read", WorkPayer("dan")) == "read"
    work.released.set()
    assert await asyncio.gather(*writing) == users


async def test_a_query_whose_caller_goes_is_interrupted_and_paid() -> None:
    engine, account = RowsEngine(), Account()
    begun = threading.Event()

    def work(connection: Any) -> None:
        begun.set()
        connection.execute(LONG).fetchall()

    running = asyncio.create_task(engine.read(work, WorkPayer("eve", account)))
    await until(begun.is_set)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert account.owed > 0
    assert await engine.read(lambda _: 1, WorkPayer("eve")) == 1


@pytest.mark.parametrize("call", ["read", "write"])
async def test_one_statement_takes_no_more_processor_time_than_a_query_may(
    call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "READ_SECONDS", 0)
    monkeypatch.setattr(engine_module, "WRITE_SECONDS", 0)
    engine, account = RowsEngine(), Account()

    def work(connection: Any) -> None:
        connection.execute(LONG).fetchall()

    calls: dict[str, Callable[[], Awaitable[None]]] = {
        "read": lambda: engine.read(work, WorkPayer("eve", account)),
        "write": lambda: engine.write(work, WorkPayer("eve", account)),
    }
    with pytest.raises(LimitExceeded) as refused:
        await calls[call]()
    assert refused.value.limit == "seconds of processor time of a query over rows"
    assert account.owed > 0
    monkeypatch.undo()
    assert await engine.read(lambda _: 1, WorkPayer("eve")) == 1


async def test_a_query_that_needs_more_memory_than_there_is_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database, "MEMORY_BYTES", 8_000_000)
    monkeypatch.setattr(database, "SPILLED", "1MB")
    engine = RowsEngine()
    for _ in range(2):  # and it ends with its own query
        with pytest.raises(LimitExceeded, match="the maximum of 8000000"):
            await engine.read(lambda one: one.execute(LARGE).fetchall(), WorkPayer("eve"))
        found = await engine.read(lambda one: one.execute("SELECT 1").fetchall(), WorkPayer("eve"))
        assert found == [(1,)]


async def test_a_query_that_waits_for_something_else_takes_no_processor_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "READ_SECONDS", 60)
    engine, work = RowsEngine(), HeldWork()
    running = asyncio.create_task(engine.read(work.of("eve"), WorkPayer("eve")))
    await until(lambda: work.begun)
    await pass_time(1000 * engine_module.READ_SECONDS)
    work.released.set()
    assert await running == "eve"


async def test_a_query_is_interrupted_that_begins_a_statement_after_its_caller_went() -> None:
    engine = RowsEngine()
    begun, caller_went = threading.Event(), threading.Event()

    def work(connection: Any) -> None:
        begun.set()
        caller_went.wait()
        connection.execute(LONG).fetchall()

    running = asyncio.create_task(engine.read(work, WorkPayer("eve")))
    await until(begun.is_set)
    running.cancel()
    await let_tasks_run()
    caller_went.set()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_query_that_waits_for_its_turn_is_cancelled_before_it_begins() -> None:
    engine, work = RowsEngine(), HeldWork()
    first = asyncio.create_task(engine.read(work.of("eve"), WorkPayer("eve")))
    await until(lambda: work.begun)
    second = asyncio.create_task(engine.read(work.of("eve"), WorkPayer("eve")))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    work.released.set()
    assert await first == "eve"
    assert work.begun == ["eve"]


async def test_a_query_pays_before_it_reads_and_owes_its_processor_time() -> None:
    engine, account = RowsEngine(), Account()

    def work(connection: Any) -> Any:
        return connection.execute("SELECT sum(sqrt(range)) FROM range(5_000_000)").fetchone()

    await engine.read(work, WorkPayer("eve", account, prepaid=0))
    spent = account.owed
    assert spent > 100
    cheap = Account()
    await engine.read(work, WorkPayer("eve", cheap, prepaid=10**9))
    assert cheap.owed == 0


async def test_rows_totals_and_withdrawals_are_paid_before_they_read(
    store: Store, pipeline: Pipeline
) -> None:
    made = await run_file(store, pipeline, a=1)
    everybody = Caller("ann", {pipeline.owner: Role.ADMIN})
    calls: dict[str, Callable[[Session], Awaitable[object]]] = {
        "page": lambda s: s.kept_rows.page(pipeline, RowFilter(), Window()),
        "totals": lambda s: s.kept_rows.totals(pipeline, RowFilter(), SUM, Window()),
        "keys": lambda s: s.row_withdrawals.by_keys(pipeline, [["a"]], "wrong"),
        "execution": lambda s: s.row_withdrawals.by_execution(pipeline, made.id, "wrong"),
    }
    for name, call in calls.items():
        for most in (0, QUERY_UNITS - 1):
            account = Account(most)
            with pytest.raises(RateLimited):
                await call(store.open_session(everybody, work=account))
            assert account.taken <= most, name
    await require_nothing_read(store, pipeline, made)


async def test_each_query_of_a_call_is_paid_by_its_caller(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await run_file(store, pipeline, a=1, b=2)
    calls: dict[str, Callable[[Session], Awaitable[object]]] = {
        "page": lambda s: s.kept_rows.page(pipeline, RowFilter(), Window()),
        "totals": lambda s: s.kept_rows.totals(pipeline, RowFilter(), SUM, Window()),
        "keys": lambda s: s.row_withdrawals.by_keys(pipeline, [["a"]], "wrong"),
        "execution": lambda s: s.row_withdrawals.by_execution(pipeline, made.id, "wrong"),
    }
    payers: list[tuple[object, float]] = []
    run = RowsEngine._run

    async def note_payer(
        engine: RowsEngine, work: Any, payer: WorkPayer, threads: Any, seconds: int
    ) -> Any:
        payers.append((payer.work, seconds))
        return await run(engine, work, payer, threads, seconds)

    monkeypatch.setattr(RowsEngine, "_run", note_payer)
    everybody = Caller("ann", {pipeline.owner: Role.ADMIN})
    for name, call in calls.items():
        payers.clear()
        account = Account()
        await call(store.open_session(everybody, work=account))
        assert payers, name
        assert set(payers) == {(account, engine_module.READ_SECONDS)}, name


async def require_nothing_read(store: Store, pipeline: Pipeline, made: Execution) -> None:
    """A caller who is a contributor nowhere is refused before a query is paid."""
    account = Account(0)
    reader = Caller("ron", {pipeline.owner: Role.READER})
    withdrawals = store.open_session(reader, work=account).row_withdrawals
    for refused in (
        withdrawals.by_keys(pipeline, [["a"]], "wrong"),
        withdrawals.by_execution(pipeline, made.id, "wrong"),
    ):
        with pytest.raises(NotPermitted):
            await refused
    assert (account.taken, account.owed) == (0, 0)
