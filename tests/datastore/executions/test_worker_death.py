"""Executions end correctly when workers die, hang or are cancelled, or a store is down."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import errors_key, input_key, output_key
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.workers.worker import REFUSED
from penstock.datastore.objects.port import Chunks, Files
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    OUTPUT,
    current_execution,
    event_history,
    read_content,
    ready_execution,
)
from tests.datastore.executions.worker_death import (
    ForwardingFiles,
    mortal_store,
)
from tests.support.consistency_check import contents, faults
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.table_interceptors import dies

MINUTES = timedelta(minutes=5)


@on_sqlite
async def test_wherever_a_worker_dies_the_next_one_finishes(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    deaths = 0
    for calls in range(40):
        made = await ready_execution(store, pipeline, INPUT + b"%d,gas\n" % calls)
        mortal = mortal_store(store, calls)
        if not await dies(mortal.execution_worker("mortal").run_all()):
            break
        deaths += 1
        watch.move(MINUTES)
        await store.execution_worker("heir").run_all()
        after = await current_execution(store, made)
        assert (after.state, after.rows) == ("success", 4)
        folder = input_key(after).rpartition("/")[0]
        wanted = {input_key(after), output_key(after), errors_key(after)}
        assert {*await store.files.list(f"{folder}/")} == wanted
        output = await read_content(store.files, output_key(after))
        assert output == OUTPUT + b"%d,%s\r\n" % (
            2 * calls,
            str(calls / 2).removesuffix(".0").encode(),
        )
        assert await faults(store.table) == []
    assert deaths >= 9


class PausedFiles(ForwardingFiles):
    """The files of a worker that is paused before its output, which differs, is stored."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.go, self.begun = asyncio.Event(), asyncio.Event()
        self.late = list[str]()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        content = [chunk async for chunk in chunks] + [b"late\r\n"]
        self.begun.set()
        await self.go.wait()
        self.late.append(key)

        async def again() -> AsyncIterator[bytes]:
            for chunk in content:
                yield chunk

        return await super().write(key, again(), content_type=content_type)


@pytest.mark.parametrize("claims_before", [0, 1])
async def test_a_worker_that_was_paused_beyond_its_claim_publishes_nothing(
    store: Store, pipeline: Pipeline, watch: Watch, claims_before: int
) -> None:
    made = await ready_execution(store, pipeline)
    claims = Claims(store.table, store.clock, store.execution_rules)
    for _ in range(claims_before):
        assert await claims.claim(await current_execution(store, made), "x") is not None
        watch.move(MINUTES)
    paused = PausedFiles(store.files)
    late = asyncio.create_task(replace(store, files=paused).execution_worker("late").run_one())
    async with asyncio.timeout(HUNG_SECONDS):
        await paused.begun.wait()
    watch.move(MINUTES)
    assert await store.execution_worker("heir").run_all() == 1
    before = await contents(store.table)
    ended = await current_execution(store, made)
    keys = await store.files.list(f"pipelines/{pipeline.id}/")
    paused.go.set()
    assert await late
    assert paused.late, "it stored something, too late"
    assert await contents(store.table) == before
    assert await read_content(store.files, output_key(ended)) == OUTPUT
    assert b"late" not in (await read_content(store.files, errors_key(ended)) or b"")
    assert await store.files.list(f"pipelines/{pipeline.id}/") == keys
    assert await faults(store.table) == []


class WaitingFiles(ForwardingFiles):
    """A file store whose reads wait until the test lets them continue."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.go, self.begun = asyncio.Event(), asyncio.Event()

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        self.begun.set()
        await self.go.wait()
        async for chunk in self.files.read(key, start=start, end=end):
            yield chunk


def slow_store(store: Store) -> tuple[Store, WaitingFiles]:
    waiting = WaitingFiles(store.files)
    rules = ExecutionRules(heartbeat=timedelta(milliseconds=10))
    return replace(store, files=waiting, execution_rules=rules), waiting


@on_sqlite
async def test_a_cancellation_is_noticed_at_the_next_sign_of_life(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    slowed, waiting = slow_store(store)
    running = asyncio.create_task(slowed.execution_worker("w").run_all())
    await waiting.begun.wait()
    await store.open_session(ANN).executions.changing.cancel(made.id)
    assert await asyncio.wait_for(running, HUNG_SECONDS) == 1
    assert (await current_execution(store, made)).state == "cancelled"
    assert await read_content(store.files, output_key(made)) is None
    assert await faults(store.table) == []


@on_sqlite
async def test_a_zombie_that_wakes_up_publishes_nothing(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, pipeline)
    waiting = WaitingFiles(store.files)
    zombie = asyncio.create_task(replace(store, files=waiting).execution_worker("zombie").run_all())
    await waiting.begun.wait()
    watch.move(MINUTES)
    assert await store.execution_worker("heir").run_all() == 1
    after = await current_execution(store, made)
    await store.files.delete(output_key(made))
    waiting.go.set()
    await zombie
    assert await current_execution(store, made) == after
    assert await read_content(store.files, output_key(made)) is None
    assert [by for _, _, by in await event_history(store.open_session(ANN), made)][2:] == [
        "zombie",
        "heir",
        "heir",
    ]


@on_sqlite
async def test_who_is_told_to_stop_leaves_the_run_to_others_at_once(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    slowed, waiting = slow_store(store)
    running = asyncio.create_task(slowed.execution_worker("w").run_all())
    await waiting.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await store.execution_worker("other").run_all() == 1
    after = await current_execution(store, made)
    assert (after.state, after.attempts) == ("success", 1)


class BrokenFiles(ForwardingFiles):
    """A file store whose first reads fail."""

    def __init__(self, files: Files, times: int, failure: Exception) -> None:
        super().__init__(files)
        self.times = times
        self.failure = failure

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        if self.times:
            self.times -= 1
            raise self.failure
        async for chunk in self.files.read(key, start=start, end=end):
            yield chunk


@on_sqlite
@pytest.mark.parametrize(("times", "state"), [(3, "success"), (100, "failed")])
@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (Unavailable("not now"), "not now"),
        (RequestRefused("GetObject", "AccessDenied", "secret words"), REFUSED),
    ],
    ids=["unavailable", "refused"],
)
async def test_a_store_that_does_not_answer_is_asked_again_within_bounds(
    store: Store,
    pipeline: Pipeline,
    watch: Watch,
    times: int,
    state: str,
    failure: Exception,
    reason: str,
) -> None:
    made = await ready_execution(store, pipeline)
    broken = BrokenFiles(store.files, times, failure)
    runner = replace(store, files=broken).execution_worker("w")
    pauses = 0
    for _ in range(1000):
        if (await current_execution(store, made)).state in ("success", "failed"):
            break
        if not await runner.run_one():
            pauses += 1
            waiting = await current_execution(store, made)
            assert waiting.message == f"The last attempt failed: {reason}"
            watch.move(timedelta(seconds=1))
    after = await current_execution(store, made)
    assert after.state == state
    if state == "success":
        assert after.message is None
    else:
        words = "It was attempted too often without success."
        assert after.message == f"{words} The last attempt failed: {reason}"
        assert (after.code, pauses) == ("ATTEMPTS_EXHAUSTED", 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_bug_fails_the_run_and_not_the_worker(
    store: Store,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = await ready_execution(store, pipeline)

    def raise_bug(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("penstock.datastore.executions.workers.run_one.compile_program", raise_bug)
    assert await store.execution_worker("w").run_all() == 1
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "INTERNAL_ERROR")
    assert "ZeroDivisionError" in caplog.text
