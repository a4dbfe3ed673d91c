"""Properties of each kind of resource, and of all kinds together."""

from typing import Any

import pytest

from penstock.datastore.errors import Invalid, NameTaken, NotFound
from penstock.datastore.records import Tag
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, KINDS, PIPELINE, REFERENCE_DATASET
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Batch, Table
from tests.support.consistency_check import faults
from tests.support.sample_resources import NORTHWEST, OWN, SUPER, USA
from tests.support.stores import open_files, open_table


class StoppingTable:
    """A table whose writer dies: after so many transactions it writes nothing more."""

    def __init__(self, table: Table, after: int) -> None:
        self._table = table
        self._left = after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    async def transact(self, *arguments: Any, **more: Any) -> Batch | Any:
        self._left -= 1
        if self._left < 0:
            raise ConnectionError("the writer is gone")
        return await self._table.transact(*arguments, **more)


async def make(session: Session, letter: str, group: GroupPath, name: str, tags: int = 0) -> Any:
    (kind,) = (kind for kind in KINDS if kind.letter == letter)
    carried = tuple(Tag(key=f"k{n}", value="v") for n in range(tags))
    content = {"name": name, "tags": carried, **OWN[letter]}
    return await session.repository(kind).writing.create(group, content, None)


async def test_each_kind_has_its_own_repository(store: Store) -> None:
    session = store.open_session(SUPER)
    assert session.repository(PIPELINE) is session.pipelines
    assert session.repository(CALCULATION) is session.calculations
    assert session.repository(REFERENCE_DATASET) is session.datasets
    assert [kind.title for kind in KINDS] == [
        "Pipeline",
        "Calculation",
        "ReferenceDataset",
        "Metric",
    ]


async def test_a_name_is_unique_in_its_kind_and_free_in_every_other(store: Store) -> None:
    session = store.open_session(SUPER)
    for group in (USA, NORTHWEST):
        await session.groups.create(group, None)
    made = {letter: await make(session, letter, USA, "one") for letter in OWN}
    for kind in KINDS:
        with pytest.raises(NameTaken) as taken:
            await make(session, kind.letter, NORTHWEST, "ONE")
        assert taken.value.holder == made[kind.letter].id
        assert (await session.repository(kind).reading.by_name("one", NORTHWEST)) == made[
            kind.letter
        ]
    await session.pipelines.deleting.delete(made["P"].id)
    assert await session.calculations.reading.one(made["C"].id) == made["C"]
    for kind in KINDS:
        other = made["C" if kind is PIPELINE else "P"].id
        with pytest.raises(NotFound):
            await session.repository(kind).reading.one(other)


async def test_a_list_of_one_kind_holds_nothing_of_another(store: Store) -> None:
    session = store.open_session(SUPER)
    await session.groups.create(USA, None)
    for letter in OWN:
        await make(session, letter, USA, f"of {letter}", tags=1)
    for listed in (ListRequest(group=USA), ListRequest(group=ROOT, include_child_groups=True)):
        for kind in KINDS:
            page = await session.repository(kind).listing.page(listed, Window())
            assert [one.name for _, one in page.entries] == [f"of {kind.letter}"]
    for kind in KINDS:
        found = await session.repository(kind).tags.keys(USA, Window())
        assert [(key.key, key.count) for _, key in found.entries] == [("k0", 1)]


async def test_deletes_of_every_kind_that_were_cut_short_are_finished(tmp_path: Any) -> None:
    async with open_table("sqlite", tmp_path) as table, open_files(tmp_path) as files:
        store = Store(table, files=files)
        session = store.open_session(SUPER)
        await session.groups.create(USA, None)
        for letter in OWN:
            made = await make(session, letter, USA, "old")
            (kind,) = (kind for kind in KINDS if kind.letter == letter)
            for version in range(1, 101):
                made = await session.repository(kind).writing.update(
                    made.id, version, {"description": f"{version}"}
                )
            stopping = Store(StoppingTable(table, after=1), files=files).open_session(SUPER)  # type: ignore[arg-type]
            with pytest.raises(ConnectionError):
                await stopping.repository(kind).deleting.delete(made.id)
            with pytest.raises(NotFound):
                await session.repository(kind).reading.one(made.id)
        assert await store.count_pending_deletes() == len(KINDS)
        assert await store.finish_deletes() == len(KINDS)
        assert await store.count_pending_deletes() == 0
        assert await store.finish_deletes() == 0


async def test_a_kind_takes_as_many_tags_as_a_resource_may_have(store: Store) -> None:
    session = store.open_session(SUPER)
    await session.groups.create(USA, None)
    for letter in OWN:
        made = await make(session, letter, USA, "wide", tags=50)
        assert len(made.tags) == 50
        with pytest.raises(Invalid):
            await make(session, letter, USA, "wider", tags=51)
    assert await faults(store.table) == []
