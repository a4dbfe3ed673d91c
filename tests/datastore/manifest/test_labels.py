"""Tags and batches of runs, and the lists that have only the runs of one."""

from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, NotPermitted
from penstock.datastore.manifest.labels import MAX_TAGS
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, Run, RunState
from penstock.datastore.manifest.transitions import SetLabels, Skip
from penstock.datastore.records import Tag
from penstock.datastore.roles import Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.manifest.sample_runs import (
    NAME,
    SNOW,
    TRANSFORM,
    bring_to,
    claim,
    discover,
    events,
    run_faults,
    run_name,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller, on_sqlite, tags
from tests.support.table_interceptors import TracedTable

GERMAN, FRENCH = tags("Country=de", "country=fr")
HOURLY = Tag(key="load", value="web/Hourly")


@pytest.fixture
def store(table: Table) -> Store:
    return Store(table, Clock(now=Watch()))


async def list_runs(session: Session, **choice: Any) -> list[str]:
    """The ids of the runs that a filter chooses; a page of one must choose the same."""
    listed = RunListFilter(**choice)
    found: list[str] = []
    after, more = None, True
    while more:
        page = await session.run_lists.page(SNOW, listed, Window(size=1, after=after))
        found += [run.run_id for _, run in page.entries]
        after, more = page.reached, page.more
    whole = await session.run_lists.page(SNOW, listed, Window())
    assert [run.run_id for _, run in whole.entries] == found
    return found


async def set_labels(session: Session, run_id: str, *tags: Tag, batch: str | None = None) -> Run:
    return await session.runs.change(run_name(run_id), SetLabels(tags=tags, batch=batch))


async def test_runs_are_listed_by_batch_tag_and_state(session: Session, store: Store) -> None:
    await discover(session, "a/", tags=(GERMAN, HOURLY), batch="2026-11-27")
    await discover(session, "b/", tags=(FRENCH,), batch="2026-11-27")
    await discover(session, "c/", tags=(GERMAN,))
    await discover(session, "d/")
    assert await list_runs(session, batch="2026-11-27") == ["a/", "b/"]
    assert await list_runs(session, tag=Tag(key="COUNTRY", value="DE")) == ["a/", "c/"]
    assert await list_runs(session, tag=GERMAN, batch="2026-11-27") == ["a/"]
    assert await list_runs(session, tag=Tag(key="load", value="web/hourly")) == ["a/"]
    assert await list_runs(session, tag=Tag(key="load", value="web")) == []
    assert await list_runs(session, batch="2026-11-28") == []
    await claim(session, TRANSFORM, run_name("a/"))
    assert await list_runs(session, batch="2026-11-27", state=RunState.NEW) == ["b/"]
    assert await list_runs(session, tag=GERMAN, state=RunState.PROCESSING) == ["a/"]
    assert await list_runs(session, batch="2026-11-27", newest_first=True) == ["b/", "a/"]
    await session.runs.change(run_name("b/"), Skip(reason="broken"))
    assert await list_runs(session, batch="2026-11-27", to_skip=False) == ["a/"]
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_labels_follow_a_run_through_all_states(session: Session, store: Store) -> None:
    await discover(session, tags=(GERMAN, HOURLY), batch="Today")
    run = await bring_to(session, RunState.LOADED)
    assert (run.tags, run.batch) == ((GERMAN, HOURLY), "Today")
    assert await list_runs(session, batch="today", state=RunState.LOADED) == [run.run_id]
    assert await list_runs(session, batch="today", state=RunState.NEW) == []
    assert await run_faults(store.table) == []


async def test_labels_are_replaced_in_any_state_and_leave_no_row(
    session: Session, store: Store
) -> None:
    plain = await bring_to(session, RunState.PROCESSING)
    bare = await contents(store.table)
    run = await session.runs.change(NAME, SetLabels(tags=(GERMAN, HOURLY), batch="today"))
    assert (run.state, run.fence, run.lease_owner) == (plain.state, plain.fence, "worker-1")
    assert (await events(session, run))[0].action is Action.TAG
    assert await session.runs.change(NAME, SetLabels(tags=(GERMAN, HOURLY), batch="today")) == run
    assert await run_faults(store.table) == []
    await session.runs.change(NAME, SetLabels(tags=(FRENCH,), batch=None))
    assert await list_runs(session, tag=GERMAN) == []
    assert await list_runs(session, tag=FRENCH, state=RunState.PROCESSING) == [run.run_id]
    await session.runs.change(NAME, SetLabels(tags=(), batch=None))
    assert {key for key in await contents(store.table) if key.pk.startswith("RL:")} == {
        key for key in bare if key.pk.startswith("RL:")
    }


async def test_a_deleted_run_leaves_no_list(session: Session, store: Store) -> None:
    await discover(session)
    many = tuple(Tag(key=f"k{n}", value="v") for n in range(MAX_TAGS))
    await session.runs.change(NAME, SetLabels(tags=many, batch="today"))
    for n in range(100):
        await session.runs.change(NAME, SetLabels(tags=many, batch=f"batch {n}"))
    await session.run_recovery.delete(NAME, force=True)
    assert [key for key in await contents(store.table) if key.pk.startswith(("RL:", "R:"))] == []
    await session.manifests.delete(SNOW)


@pytest.mark.parametrize(
    ("labels", "paths"),
    [
        ({"batch": " "}, ["batch"]),
        ({"batch": "x" * 129}, ["batch"]),
        ({"tags": tags("a=1", "A=2")}, ["tags", "1", "key"]),
        ({"tags": (Tag(key="", value="v"),)}, ["tags", "0", "key"]),
        ({"tags": (Tag(key="k", value="/".join(["x" * 128] * 8)),)}, ["tags", "0", "value"]),
        ({"tags": tuple(Tag(key=f"k{n}", value="v") for n in range(9))}, ["tags"]),
    ],
)
async def test_labels_that_break_a_rule_are_refused_and_change_nothing(
    session: Session, store: Store, labels: dict[str, Any], paths: list[str]
) -> None:
    await discover(session)
    before = await contents(store.table)
    for call in (
        discover(session, "other/", **labels),
        session.runs.change(NAME, SetLabels(**{"tags": (), "batch": None, **labels})),
    ):
        with pytest.raises(Invalid) as refused:
            await call
        assert [problem.path for problem in refused.value.problems] == [paths]
    assert await contents(store.table) == before


async def test_a_list_by_a_label_that_no_run_can_have_is_refused(session: Session) -> None:
    await discover(session)
    for choice, path in (
        ({"batch": ""}, ["batch"]),
        ({"tag": Tag(key="", value="x")}, ["tag", "key"]),
    ):
        with pytest.raises(Invalid) as refused:
            await session.run_lists.page(SNOW, RunListFilter(**choice), Window())
        assert [problem.path for problem in refused.value.problems] == [path]


async def test_a_reader_sets_no_labels(session: Session, store: Store) -> None:
    await discover(session)
    before = await contents(store.table)
    with pytest.raises(NotPermitted):
        await set_labels(store.open_session(caller({USA: Role.READER})), NAME.run_id, GERMAN)
    assert await contents(store.table) == before


@on_sqlite
async def test_a_list_by_label_reads_only_its_runs(session: Session, store: Store) -> None:
    for n in range(40):
        await discover(session, f"r{n}/", batch="all", tags=(GERMAN,) if n % 20 == 0 else ())
    traced = TracedTable(store.table)
    seen = Store(traced, store.clock).open_session(caller({USA: Role.READER}))
    for choice in (RunListFilter(tag=GERMAN), RunListFilter(tag=GERMAN, state=RunState.NEW)):
        traced.start()
        before = seen.units.rcu
        assert len((await seen.run_lists.page(SNOW, choice, Window())).entries) == 2
        # The list and the manifest at once, then the two runs.
        assert traced.seen == (3, 0, 2)
        assert seen.units.rcu - before == 4.0
