"""Folders of the bucket are compared with runs, on both stores, and become runs if wanted."""

from typing import Any

import pytest

from penstock.datastore.errors import Invalid, NotPermitted
from penstock.datastore.manifest.labels import MAX_TAGS
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, ManifestName, RunName, RunState
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Tag
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.manifest.sample_runs import (
    SNOW,
    bring_to,
    discover,
    events,
    one_chunk,
    run_faults,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, USA, caller, create_groups, on_sqlite

LIKE = Discovery(run_id="-", added_by="t", pipeline="web", batch="day")


@pytest.fixture
def store(table: Table, files: Files) -> Store:
    return Store(table, files=files, bucket_name="penstock")


@pytest.fixture
async def session(store: Store) -> Session:
    await create_groups(store)
    return store.open_session(SUPER)


async def make_folders(files: Files, *names: str) -> None:
    for name in names:
        await files.write(f"{name}part-0", one_chunk(b""), content_type="text/plain")


async def compare(session: Session, size: int = 2) -> tuple[set[str], list[str], list[str]]:
    """The folders of `arch/`, those without a run, and the runs without a folder."""
    folders, after = session.run_folders, ""
    there, absent = set[str](), list[str]()
    while True:
        page = await folders.page(SNOW, "arch/", after, size)
        there.update(page.folders)
        absent += page.without_run
        if page.reached is None:
            break
        after = page.reached
    lost = [run.run_id async for run in folders.without_folder(SNOW, "arch/", there)]
    return there, absent, lost


async def test_folders_and_runs_that_have_no_other_are_found(
    session: Session, files: Files
) -> None:
    await make_folders(files, "arch/run=1/", "arch/run=2/", "arch/run=3/deep/", "else/run=4/")
    await discover(session, "arch/run=2/")
    for lost in ("arch/run=0/", "arch/run=9", "arch/run=1/deep/", "else/run=5/"):
        await discover(session, lost)
    assert await compare(session) == (
        {"arch/run=1/", "arch/run=2/", "arch/run=3/"},
        ["arch/run=1/", "arch/run=3/"],
        ["arch/run=0/", "arch/run=9"],
    )


async def test_registering_adds_runs_as_discovery_does_and_again_adds_none(
    session: Session, files: Files, table: Table
) -> None:
    names = [f"arch/run={number}/" for number in range(10, 40)]
    await make_folders(files, *names)
    standing = await bring_to(session, RunState.PROCESSING, names[3])
    folders = session.run_folders
    assert await folders.register(SNOW, names, LIKE) == 29
    assert await compare(session) == (set(names), [], [])
    run = await session.runs.one(RunName(SNOW, names[0]))
    assert (run.state, run.added_by, run.pipeline, run.batch) == (RunState.NEW, "t", "web", "day")
    assert [event.action for event in await events(session, run)] == [Action.DISCOVER]
    assert await session.runs.one(standing.name) == standing
    before = await contents(table)
    assert await folders.register(SNOW, names, LIKE) == 0
    assert await contents(table) == before
    assert await run_faults(table) == []
    assert await faults(table) == []


@on_sqlite
async def test_many_runs_are_added_by_few_transactions(store: Store, files: Files) -> None:
    await create_groups(store)
    metered = MeteredTable(store.table)
    session = Store(metered, files=files, bucket_name="penstock", shards=1).open_session(SUPER)
    await discover(session, "first/")
    tags = tuple(Tag(key=f"k{n}", value="v") for n in range(MAX_TAGS))
    for like, calls in (
        (Discovery(run_id="-", added_by="t"), 3),
        (Discovery(run_id="-", added_by="t", tags=tags, batch="b"), 15),
    ):
        names = [f"arch/{like.batch}/run={number}/" for number in range(60)]
        metered.units.calls = 0
        assert await session.run_folders.register(SNOW, names, like) == 60
        assert metered.units.calls == calls
    listed = RunListFilter(batch="b")
    page = await session.run_lists.page(SNOW, listed, Window(size=100))
    assert len(page.entries) == 60


@on_sqlite
async def test_a_folder_that_appears_behind_the_list_is_not_missed_by_its_run(
    session: Session, files: Files
) -> None:
    await make_folders(files, "arch/run=1/")
    await discover(session, "arch/run=1/")
    found = [run async for run in session.run_folders.without_folder(SNOW, "arch/", set())]
    assert found == []


@on_sqlite
async def test_a_manifest_without_runs_has_none_without_folders(
    session: Session, files: Files
) -> None:
    await make_folders(files, "arch/run=1/")
    assert await compare(session) == ({"arch/run=1/"}, ["arch/run=1/"], [])


@on_sqlite
async def test_a_folder_that_can_be_no_run_is_told_with_its_reason(
    session: Session, files: Files
) -> None:
    long = ManifestName(USA, "\N{GRINNING FACE}" * 128)
    folder = f"arch/{'f' * 700}/"
    await make_folders(files, folder)
    page = await session.run_folders.page(long, "arch/")
    assert (page.folders, page.without_run) == ((folder,), ())
    assert page.invalid == ((folder, "makes a key of more than 1024 bytes"),)


@on_sqlite
async def test_the_path_is_one_of_the_servers_bucket(session: Session, table: Table) -> None:
    root_of = session.run_folders.root_of
    paths = ("", "a/b", "a/b/", "s3://penstock/a", "s3n://penstock/")
    assert [root_of(path) for path in paths] == ["", "a/b/", "a/b/", "a/", ""]
    for path, problem in (
        ("s3://other/a", "is not in the bucket of the server, penstock"),
        ("/a", "has an empty part"),
        ("a//b", "has an empty part"),
    ):
        with pytest.raises(Invalid, match=problem):
            root_of(path)
    with pytest.raises(Invalid, match="the server keeps no files"):
        Store(table).open_session(SUPER).run_folders.root_of("a")


@on_sqlite
async def test_only_an_administrator_of_the_root_looks_into_the_bucket(
    session: Session, store: Store, files: Files
) -> None:
    await make_folders(files, "arch/run=1/")
    before = await contents(store.table)
    for roles in ({USA: Role.ADMIN}, {ROOT: Role.CONTRIBUTOR}):
        folders = store.open_session(caller(roles, "ann")).run_folders
        calls: list[Any] = [
            folders.page(SNOW, "arch/"),
            folders.register(SNOW, ["arch/run=1/"], LIKE),
            anext(folders.without_folder(SNOW, "arch/", set())),
        ]
        for call in calls:
            with pytest.raises(NotPermitted):
                await call
    assert await contents(store.table) == before
