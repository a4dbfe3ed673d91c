"""Stuck runs are recovered, reset or deleted, depending on the content of their folder."""

from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import (
    AlreadyLoaded,
    IllegalState,
    Invalid,
    LeaseHeld,
    NotFound,
    NotPermitted,
    OutputExists,
    OutputMissing,
)
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, RunState
from penstock.datastore.manifest.recovery import OutputLocation
from penstock.datastore.manifest.runs import folder_in_stage
from penstock.datastore.manifest.transitions import Fail
from penstock.datastore.objects.port import Files
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.manifest.sample_runs import (
    LOAD,
    NAME,
    RUN_ID,
    SAVED_TO,
    SNOW,
    TRANSFORM,
    TYPES,
    bring_to,
    claim,
    discover,
    one_chunk,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import EU, USA, Watch, caller, on_sqlite, walk

NOW = 1660175720
AT_STAGE = OutputLocation(stage="s3://stage/snow")
THERE = OutputLocation(saved_to=SAVED_TO)


@pytest.fixture
def store(table: Table, watch: Watch, files: Files) -> Store:
    return Store(table, Clock(now=watch), files=files, bucket_name="stage")


async def write_success(files: Files, folder: str = "snow/run=2018-12-11-00-00-00/") -> None:
    await files.write(f"{folder}_SUCCESS", one_chunk(b""), content_type="text/plain")


def test_a_run_lies_in_its_stage_under_its_last_part() -> None:
    assert folder_in_stage("s3://stage/snow", RUN_ID) == SAVED_TO
    assert folder_in_stage("s3n://stage/snow/", RUN_ID.rstrip("/")) == SAVED_TO
    assert folder_in_stage("s3://stage/", "run=1") == "s3://stage/run=1/"


async def test_a_run_whose_output_is_complete_is_recovered(
    session: Session, store: Store, files: Files
) -> None:
    await discover(session)
    before = await contents(store.table)
    for output in (
        AT_STAGE,
        THERE,
        OutputLocation(saved_to="s3a://stage/snow/run=2018-12-11-00-00-00"),
    ):
        with pytest.raises(OutputMissing, match=r"no _SUCCESS in s3://stage/snow/run=2018") as no:
            await session.run_recovery.recover(NAME, TYPES, output)
        assert (no.value.code, no.value.state) == ("OUTPUT_MISSING", "NEW")
    assert await contents(store.table) == before
    await write_success(files)
    run = await session.run_recovery.recover(NAME, TYPES, AT_STAGE, "the job was done")
    assert (run.state, run.processed_at, run.shred_types, run.saved_to) == (
        RunState.PROCESSED,
        NOW,
        TYPES,
        SAVED_TO,
    )
    page = await session.run_lists.history(run, Window(size=1))
    told = page.entries[0][1]
    assert (told.action, told.before, told.after, told.reason) == (
        Action.RECOVER,
        RunState.NEW,
        RunState.PROCESSED,
        "the job was done",
    )
    assert (await claim(session, LOAD)).fence == 1
    assert await run_faults(store.table) == []


async def test_a_run_in_a_hand_is_left_alone_until_the_lease_runs_out(
    session: Session, store: Store, files: Files, watch: Watch
) -> None:
    held = await bring_to(session, RunState.PROCESSING)
    await write_success(files)
    before = await contents(store.table)
    for call in (
        session.run_recovery.recover(NAME, TYPES, AT_STAGE),
        session.run_recovery.reset(NAME, force=True),
        session.run_recovery.delete(NAME, force=True),
    ):
        with pytest.raises(LeaseHeld):
            await call
    assert await contents(store.table) == before
    watch.move(timedelta(minutes=5))
    run = await session.run_recovery.recover(NAME, TYPES, AT_STAGE)
    assert (run.state, run.lease_owner, run.fence) == (RunState.PROCESSED, None, held.fence)


async def test_a_run_that_failed_to_load_is_recovered_from_what_it_says_itself(
    session: Session, store: Store, files: Files
) -> None:
    run = await bring_to(session, RunState.LOADING)
    await session.runs.change(NAME, Fail(fence=run.fence, error="no warehouse"))
    with pytest.raises(OutputMissing):
        await session.run_recovery.recover(NAME)
    await write_success(files)
    again = await session.run_recovery.recover(NAME)
    assert (again.state, again.shred_types, again.saved_to, again.last_error) == (
        RunState.PROCESSED,
        TYPES,
        SAVED_TO,
        None,
    )
    assert await run_faults(store.table) == []


async def test_a_run_without_output_is_reset_and_one_with_output_only_by_force(
    session: Session, store: Store, files: Files
) -> None:
    await bring_to(session, RunState.FAILED)
    run = await session.run_recovery.reset(NAME, AT_STAGE, "try again", force=False)
    assert (run.state, run.attempt, run.last_error, run.fence) == (RunState.NEW, 0, None, 1)
    assert (await claim(session, TRANSFORM)).fence == 2
    await session.runs.change(NAME, Fail(fence=2, error="again"))
    await write_success(files)
    before = await contents(store.table)
    for call in (
        session.run_recovery.reset(NAME, AT_STAGE, force=False),
        session.run_recovery.delete(NAME, AT_STAGE, force=False),
    ):
        with pytest.raises(OutputExists, match="There is a _SUCCESS in s3://stage/") as refused:
            await call
        assert (refused.value.code, refused.value.state) == ("OUTPUT_EXISTS", "FAILED")
    assert await contents(store.table) == before
    assert (await session.run_recovery.reset(NAME, force=True)).state is RunState.NEW
    assert await run_faults(store.table) == []


async def test_a_reset_takes_back_what_was_processed(session: Session, store: Store) -> None:
    run = await bring_to(session, RunState.LOADING)
    await session.runs.change(NAME, Fail(fence=run.fence, error="no warehouse"))
    with pytest.raises(IllegalState, match="reset it to transform it again"):
        await claim(session, TRANSFORM)
    again = await session.run_recovery.reset(NAME, force=False)
    assert (again.processed_at, again.shred_types, again.saved_to) == (None, None, None)
    assert (await claim(session, TRANSFORM)).attempt == 1
    assert await run_faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("state", [RunState.PROCESSED, RunState.LOADING, RunState.LOADED])
async def test_what_is_not_stuck_is_neither_recovered_nor_reset(
    session: Session, store: Store, files: Files, watch: Watch, state: RunState
) -> None:
    await bring_to(session, state)
    await write_success(files)
    watch.move(timedelta(days=1))
    before = await contents(store.table)
    for call in (
        session.run_recovery.recover(NAME),
        session.run_recovery.reset(NAME, force=True),
        session.run_recovery.delete(NAME, force=True),
    ):
        with pytest.raises(IllegalState) as refused:
            await call
        assert type(refused.value) is (AlreadyLoaded if state is RunState.LOADED else IllegalState)
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize(
    ("arguments", "field", "words"),
    [
        ({}, "savedTo", "must name the folder"),
        (
            {"output": OutputLocation(saved_to=SAVED_TO, stage="s3://stage/")},
            "stagePath",
            "not be given",
        ),
        ({"output": OutputLocation(stage="stage")}, "stagePath", "must be a folder"),
        ({"output": OutputLocation(saved_to="s3://x")}, "savedTo", "must be a folder"),
        (
            {"output": OutputLocation(saved_to="s3://other/run=1/")},
            "savedTo",
            "the bucket of the server",
        ),
        ({"output": OutputLocation(saved_to="s3://stage/a//b/")}, "savedTo", "names no folder"),
        ({"output": THERE, "shred_types": None}, "shredTypes", "must be given"),
        ({"output": THERE, "shred_types": [""]}, "shredTypes", "must not be empty"),
        ({"output": THERE, "reason": ""}, "reason", "must not be empty"),
    ],
)
async def test_a_recovery_says_what_is_wrong_with_it(
    session: Session, store: Store, files: Files, arguments: dict[str, Any], field: str, words: str
) -> None:
    await discover(session)
    await write_success(files)
    before = await contents(store.table)
    with pytest.raises(Invalid, match=words) as refused:
        await session.run_recovery.recover(NAME, **{"shred_types": TYPES, **arguments})
    assert [problem.path for problem in refused.value.problems] == [[field]]
    assert await contents(store.table) == before


@on_sqlite
async def test_a_server_without_files_says_that_it_cannot_look(
    session: Session, store: Store
) -> None:
    await discover(session)
    blind = Store(store.table, store.clock).open_session(session.caller)
    with pytest.raises(Invalid, match="the server keeps no files"):
        await blind.run_recovery.recover(NAME, TYPES, THERE)
    assert (await blind.run_recovery.reset(NAME, force=True)).version == 2


@on_sqlite
async def test_only_those_may_recover_who_may_work_and_only_admins_delete(
    session: Session, store: Store, files: Files
) -> None:
    await bring_to(session, RunState.FAILED)
    await write_success(files)
    before = await contents(store.table)
    for roles, failure in (({EU: Role.ADMIN}, NotFound), ({USA: Role.READER}, NotPermitted)):
        recovery = store.open_session(caller(roles)).run_recovery
        for call in (
            recovery.recover(NAME, TYPES, THERE),
            recovery.reset(NAME, force=True),
            recovery.delete(NAME, force=True),
        ):
            with pytest.raises(failure):
                await call
    contributor = store.open_session(caller({USA: Role.CONTRIBUTOR})).run_recovery
    with pytest.raises(NotPermitted):
        await contributor.delete(NAME, force=True)
    assert await contents(store.table) == before
    assert (await contributor.recover(NAME, TYPES, THERE)).state is RunState.PROCESSED
    listed = await walk(lambda w: session.run_lists.page(SNOW, RunListFilter(), w))
    assert [run.run_id for run in listed] == [RUN_ID]
    assert run_name(RUN_ID) == NAME
