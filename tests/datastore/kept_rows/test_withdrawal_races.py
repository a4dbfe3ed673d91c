"""A withdrawal beside commits that come first: it is made again only if they have its rows."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.errors import NotFound, RateLimited
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import read_head, read_parts
from penstock.datastore.kept_rows.records import PartKind, RowsPart
from penstock.datastore.kept_rows.withdraw import WithdrawRows
from penstock.datastore.kept_rows.write_part import PartWriter
from penstock.datastore.records import Pipeline, ValueType
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN, ready_execution
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.datastore.kept_rows.plants import PLANTS, plant_file, read_kwh, read_rows, run_file
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.table_interceptors import dies
from tests.support.work_account import Account

Commit = Callable[[], Awaitable[object]]


class Interruptions:
    """Commits that come after a withdrawal has written its part, and before it adds it.

    `written` counts the parts that were written.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *commits: Commit) -> None:
        self.written = 0
        self._commits = list(commits)
        write, add = PartWriter.write_selection, WithdrawRows._add

        async def write_and_count(writer: PartWriter, *given: Any) -> RowsPart | None:
            self.written += 1
            return await write(writer, *given)

        async def let_others_commit(withdraw: WithdrawRows, *given: Any) -> int:
            if self._commits:
                await self._commits.pop(0)()
            return await add(withdraw, *given)

        monkeypatch.setattr(PartWriter, "write_selection", write_and_count)
        monkeypatch.setattr(WithdrawRows, "_add", let_others_commit)


async def withdraw(store: Store, pipeline: Pipeline, *keys: str) -> int:
    withdrawals = store.open_session(ANN).row_withdrawals
    return await withdrawals.by_keys(pipeline, [[key] for key in keys], "wrong")


async def withdrawal_files(store: Store, pipeline: Pipeline) -> Sequence[str]:
    return await store.files.list(f"{rows_folder(pipeline.id)}withdrawal-")


async def test_commits_of_other_rows_do_not_make_a_withdrawal_begin_anew(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1, b=2, c=3)

    async def others() -> None:
        await run_file(store, pipeline, d=4)
        await run_file(store, pipeline, c=5)

    seen = Interruptions(monkeypatch, others)
    assert await withdraw(store, pipeline, "a", "b") == 2
    assert seen.written == 1
    assert await read_kwh(store, pipeline) == {"c": "5", "d": "4"}
    parts = await read_parts(store.table, pipeline.id)
    assert [one.commit for one in parts] == [1, 2, 3, 4]
    assert (parts[-1].kind, parts[-1].by) == (PartKind.WITHDRAWAL, ANN.user_id)
    assert len(await withdrawal_files(store, pipeline)) == 1


async def test_a_row_that_was_corrected_meanwhile_is_withdrawn_as_it_is_now(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1, b=2)
    digests = {row.key[0]: row.digest for row in await read_rows(store, pipeline)}
    seen = Interruptions(monkeypatch, lambda: run_file(store, pipeline, a=7))
    assert await withdraw(store, pipeline, "a") == 1
    assert seen.written == 2
    assert await read_kwh(store, pipeline) == {"b": "2"}
    rows = store.open_session(ANN).kept_rows
    ((latest, *earlier),) = await rows.many_versions([(pipeline.id, digests["a"])])
    assert (latest.withdrawn, latest.values["kwh"]) == (True, 7)
    assert [one.values["kwh"] for one in earlier] == [7, 1]
    assert len(await withdrawal_files(store, pipeline)) == 1


async def test_a_row_that_was_withdrawn_meanwhile_is_not_found(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1, b=2)
    Interruptions(monkeypatch, lambda: withdraw(store, pipeline, "a"))
    with pytest.raises(NotFound) as failure:
        await withdraw(store, pipeline, "a", "b")
    assert failure.value.positions == (0,)
    assert await read_kwh(store, pipeline) == {"b": "2"}
    assert len(await withdrawal_files(store, pipeline)) == 1
    assert (await read_head(store.table, pipeline.id)).commits == 2


@on_sqlite
async def test_rows_of_an_execution_that_are_corrected_meanwhile_stay(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await run_file(store, pipeline, a=1, b=2)
    seen = Interruptions(monkeypatch, lambda: run_file(store, pipeline, a=7))
    withdrawals = store.open_session(ANN).row_withdrawals
    assert await withdrawals.by_execution(pipeline, made.id, "wrong") == 1
    assert seen.written == 2
    assert await read_kwh(store, pipeline) == {"a": "7"}


@on_sqlite
async def test_a_withdrawal_has_the_types_of_what_came_first(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1, b=2)
    text = replace(PLANTS.transforms[1].outputs[0], type=PLANTS.parameters[0].type)
    as_text = (PLANTS.transforms[0], replace(PLANTS.transforms[1], formula="'x'", outputs=(text,)))
    writing = store.open_session(SUPER).pipelines.writing

    async def change_type() -> None:
        changed = await writing.update(
            pipeline.id, 1, {"transformer": replace(PLANTS, transforms=as_text)}
        )
        await run_file(store, changed, c=3)

    Interruptions(monkeypatch, change_type)
    assert await withdraw(store, pipeline, "a") == 1
    before, after = (await read_parts(store.table, pipeline.id))[-2:]
    assert after.types == before.types == {"plant": ValueType.STRING, "kwh": ValueType.STRING}


@on_sqlite
async def test_a_pipeline_that_is_deleted_meanwhile_keeps_no_file(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1)

    async def delete_all() -> None:
        await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
        for _ in range(3):
            await store.finish_deletes()

    Interruptions(monkeypatch, delete_all)
    with pytest.raises(NotFound):
        await withdraw(store, pipeline, "a")
    assert await withdrawal_files(store, pipeline) == ()
    assert await read_parts(store.table, pipeline.id) == []
    assert (await read_head(store.table, pipeline.id)).commits == 0


@on_sqlite
async def test_looking_at_what_came_first_is_paid_and_a_refusal_leaves_nothing(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, a=1)
    account = Account()
    await store.open_session(ANN, account).row_withdrawals.by_keys(pipeline, [["a"]], "wrong")
    alone = account.taken
    await run_file(store, pipeline, a=1)
    Interruptions(monkeypatch, lambda: run_file(store, pipeline, b=2))
    poor = store.open_session(ANN, Account(most=alone + 20)).row_withdrawals
    with pytest.raises(RateLimited):
        await poor.by_keys(pipeline, [["a"]], "wrong")
    assert await read_kwh(store, pipeline) == {"a": "1", "b": "2"}
    assert len(await withdrawal_files(store, pipeline)) == 1


@on_sqlite
async def test_withdrawals_and_executions_that_meet_all_take_effect(
    store: Store, pipeline: Pipeline
) -> None:
    await run_file(store, pipeline, **{f"a{n}": n for n in range(8)})
    for n in range(6):
        await ready_execution(store, pipeline, plant_file([(f"b{n}", n)]))
    counts = await asyncio.gather(
        *(withdraw(store, pipeline, f"a{n}") for n in range(6)),
        *(store.execution_worker(f"w{n}").run_all() for n in range(6)),
    )
    assert (counts[:6], sum(counts[6:])) == ([1] * 6, 6)
    kept = {f"b{n}": str(n) for n in range(6)} | {"a6": "6", "a7": "7"}
    assert await read_kwh(store, pipeline) == kept
    assert (await read_head(store.table, pipeline.id)).commits == 13


@on_sqlite
async def test_wherever_a_withdrawal_dies_no_file_stays_that_no_list_names(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    deaths = 0
    for calls in range(40):
        await run_file(store, pipeline, a=calls)
        mortal = mortal_store(store, calls)
        if not await dies(withdraw(mortal, pipeline, "a")):
            break
        deaths += 1
        watch.move(timedelta(hours=2))
        await store.sweep_files()
        named = {part.file for part in await read_parts(store.table, pipeline.id)}
        assert {*await withdrawal_files(store, pipeline)} <= named
    assert deaths >= 3
