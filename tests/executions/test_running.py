"""Running: what comes out, what failure means, and death at every stage."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from datastore.errors import Invalid, LimitExceeded, Unavailable
from datastore.executions.creating import Wanted
from datastore.executions.keys import errors_key, ingest_key, input_key, output_key
from datastore.executions.listing import ListedExecutions
from datastore.executions.rules import ExecutionRules
from datastore.files import Chunks, Files
from datastore.records import Pipeline
from datastore.slices import Window
from datastore.store import Store
from kernel.outcome import Counts
from tests.datastore.recount import contents, faults
from tests.datastore.watched import Died
from tests.datastore.world import Watch, on_sqlite
from tests.executions.mortal import Life, MortalFiles, MortalTable, Through
from tests.executions.world import (
    ANN,
    ERRORS,
    INPUT,
    OUTPUT,
    content,
    done,
    history,
    now,
    put,
    ready,
)

MINUTES = timedelta(minutes=5)


async def test_output_and_rejected_rows_are_there_and_the_input_is_kept(
    store: Store, pipeline: Pipeline
) -> None:
    over = await done(store, pipeline)
    assert (over.state, over.counts) == (
        "success",
        Counts(3, 2, 1, len(INPUT), len(OUTPUT) + len(ERRORS)),
    )
    assert (over.worker, over.held_until, over.code) == (None, None, None)
    assert await content(store.files, output_key(over)) == OUTPUT
    assert await content(store.files, errors_key(over)) == ERRORS
    assert await content(store.files, input_key(over)) == INPUT
    assert await faults(store.table) == []


@on_sqlite
async def test_what_is_uploaded_later_does_not_reach_a_run(
    store: Store, pipeline: Pipeline
) -> None:
    failed = await done(store, pipeline, b"nonsense\n")
    await put(store.files, ingest_key(failed), INPUT)
    await store.seen_by(ANN).executions.changing.retry(failed.id)
    await store.runner("w").run_all()
    assert (await now(store, failed)).state == "failed"


@on_sqlite
@pytest.mark.parametrize(
    ("data", "more", "code", "message"),
    [
        (b"", {}, "EMPTY_INPUT", "the file is empty"),
        (
            b"distance\n1\n",
            {},
            "MISSING_COLUMN",
            "the header lacks 'Fuel type'; it has 'distance'",
        ),
        (b"distance,fuel\nx,gas\n", {}, "ALL_ROWS_FAILED", "No row could be used."),
        (
            INPUT,
            {"max_failed_rows": 0},
            "TOO_MANY_FAILED_ROWS",
            "Row 2: more than 0 rows failed; those below were not looked at",
        ),
    ],
    ids=["empty", "header", "no good row", "threshold"],
)
async def test_a_run_fails_only_when_nothing_could_be_done_or_too_much_failed(
    store: Store,
    pipeline: Pipeline,
    data: bytes,
    more: dict[str, int],
    code: str,
    message: str,
) -> None:
    failed = await done(store, pipeline, data, **more)
    assert (failed.state, failed.code, failed.message) == ("failed", code, message)
    assert await content(store.files, output_key(failed)) is None
    errors = await content(store.files, errors_key(failed))
    assert errors is not None
    assert errors.startswith(b"row,column,code,message\r\n")
    assert await faults(store.table) == []


ROWS: list[dict[str, object]] = [
    {"distance": 12.5, "fuel": "gas"},
    {"distance": "far"},
    {"distance": 3},
]


@on_sqlite
async def test_rows_of_a_request_are_run_at_once_and_like_files(
    store: Store, pipeline: Pipeline
) -> None:
    inline = store.seen_by(ANN).executions.inline
    wanted = Wanted(pipeline_id=pipeline.id)
    made = await inline.run(wanted, ROWS, "key")
    assert (made.state, made.counts.succeeded, made.counts.failed) == ("success", 2, 1)
    assert await content(store.files, output_key(made)) == OUTPUT
    assert await inline.run(wanted, ROWS, "key") == made
    with pytest.raises(Invalid):
        await inline.run(wanted, ROWS[:1], "key")
    assert [event for event, _, _ in await history(store.seen_by(ANN), made)] == [
        "created",
        "claimed",
        "succeeded",
    ]
    assert await faults(store.table) == []


@on_sqlite
async def test_a_request_has_only_so_many_rows(store: Store, pipeline: Pipeline) -> None:
    inline = store.seen_by(ANN).executions.inline
    wanted = Wanted(pipeline_id=pipeline.id)
    before = await contents(store.table)
    with pytest.raises(LimitExceeded, match="1001 is more than the maximum of 1000"):
        await inline.run(wanted, [{"distance": 1}] * 1001)
    with pytest.raises(LimitExceeded, match="bytes of the rows"):
        await inline.run(wanted, [{"fuel": "x" * 4_200_000}])
    assert await contents(store.table) == before
    assert (await inline.run(wanted, [{"distance": 1}] * 1000)).counts.succeeded == 1000


@on_sqlite
async def test_rows_of_a_request_whose_server_died_are_run_by_another_or_given_up(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    states = []
    for calls in range(12):
        life = Life(calls)
        mortal = replace(
            store, table=MortalTable(store.table, life), files=MortalFiles(store.files, life)
        )
        wanted = Wanted(pipeline_id=pipeline.id)
        with suppress(Died):
            await mortal.seen_by(ANN).executions.inline.run(wanted, [{"distance": calls}])
        watch.move(timedelta(minutes=11))
        await store.runner("heir").run_all()
        await store.look_for_uploads()
        page = await store.seen_by(ANN).executions.listing.page(
            pipeline, ListedExecutions(), Window(size=1)
        )
        states += [one.state.value for _, one in page.entries]
        assert await faults(store.table) == []
    assert set(states) == {"failed", "success"}


@on_sqlite
async def test_the_same_work_is_not_done_twice(store: Store, pipeline: Pipeline) -> None:
    first, second = await done(store, pipeline), await done(store, pipeline)
    assert (second.state, second.message) == ("success", f"As {first.id} did.")
    assert second.counts == first.counts
    assert second.digest == first.digest
    assert await content(store.files, output_key(second)) == OUTPUT
    assert await content(store.files, errors_key(second)) == ERRORS
    other = await done(store, pipeline, INPUT + b"1,gas\n")
    assert (other.message, other.counts.rows) == (None, 4)
    bounded = await done(store, pipeline, max_failed_rows=5)
    assert bounded.message is None


@on_sqlite
async def test_work_is_done_again_where_its_files_are_gone(
    store: Store, pipeline: Pipeline
) -> None:
    first = await done(store, pipeline)
    await store.files.delete(output_key(first))
    second = await done(store, pipeline)
    assert (second.state, second.message) == ("success", None)
    assert await content(store.files, output_key(second)) == OUTPUT


@on_sqlite
async def test_an_input_that_is_gone_is_told(store: Store, pipeline: Pipeline) -> None:
    made = await ready(store, pipeline)
    await store.files.delete(ingest_key(made))
    await store.runner("w").run_all()
    after = await now(store, made)
    assert (after.state, after.code) == ("failed", "INPUT_GONE")


@on_sqlite
async def test_wherever_a_worker_dies_the_next_one_finishes(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    deaths = 0
    for calls in range(40):
        made = await ready(store, pipeline, INPUT + b"%d,gas\n" % calls)
        life = Life(calls)
        mortal = replace(
            store, table=MortalTable(store.table, life), files=MortalFiles(store.files, life)
        )
        try:
            await mortal.runner("mortal").run_all()
            break
        except Died:
            deaths += 1
        watch.move(MINUTES)
        await store.runner("heir").run_all()
        after = await now(store, made)
        assert (after.state, after.rows) == ("success", 4)
        output = await content(store.files, output_key(made))
        assert output == OUTPUT + b"%d,%s\r\n" % (
            2 * calls,
            str(calls / 2).removesuffix(".0").encode(),
        )
        assert await faults(store.table) == []
    assert deaths >= 10


class Waiting(Through):
    """A file store whose reads wait until they may go on."""

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        self.go, self.begun = asyncio.Event(), asyncio.Event()

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        self.begun.set()
        await self.go.wait()
        async for chunk in self.files.read(key, start=start, end=end):
            yield chunk


def slow(store: Store) -> tuple[Store, Waiting]:
    waiting = Waiting(store.files)
    rules = ExecutionRules(beat=timedelta(milliseconds=10))
    return replace(store, files=waiting, rules=rules), waiting


@on_sqlite
async def test_a_cancellation_is_noticed_at_the_next_sign_of_life(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready(store, pipeline)
    slowed, waiting = slow(store)
    running = asyncio.create_task(slowed.runner("w").run_all())
    await waiting.begun.wait()
    await store.seen_by(ANN).executions.changing.cancel(made.id)
    assert await asyncio.wait_for(running, 5) == 1
    assert (await now(store, made)).state == "cancelled"
    assert await content(store.files, output_key(made)) is None
    assert await faults(store.table) == []


@on_sqlite
async def test_a_zombie_that_wakes_up_publishes_nothing(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready(store, pipeline)
    waiting = Waiting(store.files)
    zombie = asyncio.create_task(replace(store, files=waiting).runner("zombie").run_all())
    await waiting.begun.wait()
    watch.move(MINUTES)
    assert await store.runner("heir").run_all() == 1
    after = await now(store, made)
    await store.files.delete(output_key(made))
    waiting.go.set()
    await zombie
    assert await now(store, made) == after
    assert await content(store.files, output_key(made)) is None
    assert [by for _, _, by in await history(store.seen_by(ANN), made)][2:] == [
        "zombie",
        "heir",
        "heir",
    ]


@on_sqlite
async def test_who_is_told_to_stop_leaves_the_run_to_others_at_once(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready(store, pipeline)
    slowed, waiting = slow(store)
    running = asyncio.create_task(slowed.runner("w").run_all())
    await waiting.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await store.runner("other").run_all() == 1
    after = await now(store, made)
    assert (after.state, after.attempts) == ("success", 1)


class Broken(Through):
    """A file store that cannot be read for so many times."""

    def __init__(self, files: Files, times: int) -> None:
        super().__init__(files)
        self.times = times

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        if self.times:
            self.times -= 1
            raise Unavailable("not now")
        async for chunk in self.files.read(key, start=start, end=end):
            yield chunk


@on_sqlite
@pytest.mark.parametrize(("times", "state"), [(3, "success"), (100, "failed")])
async def test_a_store_that_does_not_answer_is_asked_again_within_bounds(
    store: Store, pipeline: Pipeline, watch: Watch, times: int, state: str
) -> None:
    made = await ready(store, pipeline)
    runner = replace(store, files=Broken(store.files, times)).runner("w")
    pauses = 0
    for _ in range(1000):
        if (await now(store, made)).state in ("success", "failed"):
            break
        if not await runner.run_one():
            pauses += 1
            watch.move(timedelta(seconds=1))
    after = await now(store, made)
    assert after.state == state
    if state == "failed":
        assert (after.code, pauses) == ("ATTEMPTS_EXHAUSTED", 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60)
    assert await faults(store.table) == []


@on_sqlite
async def test_a_bug_fails_the_run_and_not_the_worker(
    store: Store,
    pipeline: Pipeline,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = await ready(store, pipeline)

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("datastore.executions.working.Program", broken)
    assert await store.runner("w").run_all() == 1
    after = await now(store, made)
    assert (after.state, after.code) == ("failed", "INTERNAL_ERROR")
    assert "ZeroDivisionError" in caplog.text
