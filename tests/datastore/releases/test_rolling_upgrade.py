"""Servers of this release and of a next one share a table, before, during and after an upgrade."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from penstock.datastore.access.access import Access
from penstock.datastore.errors import Unavailable
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE, row
from penstock.datastore.table.port import Key, Put, Update
from penstock.datastore.table.schema_marker import (
    THIS_RELEASE,
    GuardedTable,
    Release,
    SchemaMarker,
    TooOld,
    place_marker,
    read_marker,
)
from penstock.datastore.tag_search.postings import ListedResources
from penstock.datastore.upgrades.upgrade import STEPS, Step, upgrade_rows
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, USA, create_groups, make, names_in

NEXT = Release(THIS_RELEASE.schema + 1)
LABEL = row("P:{id}", "PL:{label}")
"""A row of the next release, among the rows of a pipeline."""


async def give_zones(access: Access, after: str | None) -> AsyncIterator[tuple[str, int, int]]:
    """Give each pipeline a zone, one by one."""
    page = await ListedResources.oldest_first(access.table, PIPELINE).read(after, 100)
    for id, _ in page.rows:
        key = PIPELINE.latest.key(id=id)
        await access.table.transact([Update(key=key, default={"zone": "north"})])
        yield id, 1, 1


NEXT_STEPS = (*STEPS, Step(NEXT.schema, "Giving zones", give_zones, minimum_writer=NEXT.schema))


class Fleet:
    """A server of this release and one of the next, over one table; `pass_time` passes a minute."""

    def __init__(self, store: Store) -> None:
        self.table = store.table
        self._now = 0.0
        self.old_table = self._guard(THIS_RELEASE)
        self.new_table = self._guard(NEXT)
        self.old = replace(store, table=self.old_table).open_session(SUPER)
        self.new = replace(store, table=self.new_table).open_session(SUPER)

    def _guard(self, release: Release) -> GuardedTable:
        return GuardedTable(self.table, release, now=lambda: self._now)

    def pass_time(self) -> None:
        self._now += 60

    async def zone_of(self, id: str) -> object:
        return (await contents(self.table))[PIPELINE.latest.key(id=id)].get("zone")


@pytest.fixture
async def fleet(store: Store) -> Fleet:
    await place_marker(store.table)
    await create_groups(store)
    return Fleet(store)


def access_of(session: Session) -> Access:
    """The access of a session, over its own guarded table."""
    return session.pipelines.reading.access


async def upgrade(fleet: Fleet, stop_after: int | None = None) -> SchemaMarker:
    """Upgrade by the next release; stop after so many pages, if there are that many."""
    pages = 0

    def count(_step: Step, _page: object) -> None:
        nonlocal pages
        pages += 1
        if pages == stop_after:
            raise KeyboardInterrupt

    return await upgrade_rows(access_of(fleet.new), NEXT_STEPS, count)


async def test_both_releases_write_and_lose_nothing_of_each_other(fleet: Fleet) -> None:
    made = await make(fleet.old, USA, "first", "colour=red")
    key = PIPELINE.latest.key(id=made.id)
    zoned = Update(key=key, set={"zone": "south"}, add={"revision": 1})
    await fleet.new_table.transact([zoned, Put(LABEL.item(id=made.id, label="blue"))])
    changed = await fleet.old.pipelines.writing.update(made.id, 1, {"name": "second"})
    assert (changed.version, changed.name) == (2, "second")
    row = (await contents(fleet.table))[key]
    assert (row["zone"], row["name"]) == ("south", "second")
    assert LABEL.key(id=made.id, label="blue") in await contents(fleet.table)
    versions = [PIPELINE.version.key(id=made.id, version=n) for n in (1, 2)]
    rows = await contents(fleet.table)
    assert [rows[each].get("zone") for each in versions] == [None, "south"]


async def test_a_new_state_is_left_out_by_the_old_release_and_not_lost(fleet: Fleet) -> None:
    made = [await make(fleet.old, USA, name) for name in ("one", "two", "three")]
    key = PIPELINE.latest.key(id=made[1].id)
    await fleet.new_table.transact([Update(key=key, set={"state": "archived"})])
    assert await names_in(fleet.old, USA) == ["one", "three"]
    kept = await contents(fleet.table)
    with pytest.raises(Exception, match="in a form that this server cannot read"):
        await fleet.old.pipelines.writing.grant(made[1].id, USA)
    assert await contents(fleet.table) == kept


async def test_an_upgrade_that_was_stopped_goes_on_and_then_the_old_release_only_reads(
    fleet: Fleet,
) -> None:
    made = [await make(fleet.old, USA, name) for name in ("one", "two", "three")]
    with pytest.raises(KeyboardInterrupt):
        await upgrade(fleet, stop_after=2)
    halfway = await read_marker(fleet.table)
    assert (halfway.schema, halfway.step, halfway.cursor) == (
        THIS_RELEASE.schema,
        NEXT.schema,
        made[1].id,
    )
    assert [await fleet.zone_of(each.id) for each in made] == ["north", "north", None]
    fleet.pass_time()
    await fleet.old.pipelines.writing.update(made[0].id, 1, {"description": "written meanwhile"})
    assert await upgrade(fleet) == SchemaMarker(
        schema=NEXT.schema, minimum_reader=11, minimum_writer=NEXT.schema
    )
    assert [await fleet.zone_of(each.id) for each in made] == ["north"] * 3
    fleet.pass_time()
    kept = await contents(fleet.table)
    known, needed = NEXT.schema - 1, NEXT.schema
    with pytest.raises(
        TooOld, match=rf"too old to write the table: it knows .* {known}, and {needed} is needed"
    ):
        await fleet.old.pipelines.writing.update(made[2].id, 1, {"name": "four"})
    with pytest.raises(Unavailable):
        await fleet.old_table.ping()
    assert await contents(fleet.table) == kept
    assert await names_in(fleet.old, USA) == ["one", "two", "three"]
    await fleet.new_table.ping()
    await fleet.new.pipelines.writing.update(made[2].id, 1, {"name": "four"})


async def test_a_rollback_before_the_upgrade_keeps_what_the_next_release_wrote(
    fleet: Fleet,
) -> None:
    made = await make(fleet.new, USA, "first")
    key = PIPELINE.latest.key(id=made.id)
    await fleet.new_table.transact([Update(key=key, set={"zone": "south"})])
    again = Fleet(replace(Store(fleet.table), table=fleet.table))
    await again.old.pipelines.writing.update(made.id, 1, {"name": "second"})
    await again.old.pipelines.writing.update(made.id, 2, {"description": "third"})
    assert await again.zone_of(made.id) == "south"
    assert (await upgrade(again)).schema == NEXT.schema
    assert await again.zone_of(made.id) == "south"


async def test_a_release_that_may_not_read_does_neither(fleet: Fleet) -> None:
    made = await make(fleet.old, USA, "first")
    closed = SchemaMarker(
        schema=NEXT.schema, minimum_reader=NEXT.schema, minimum_writer=NEXT.schema
    )
    marker = Update(
        key=Key("SM", "SM"),
        set={"schema": NEXT.schema, "minimumReader": NEXT.schema, "minimumWriter": NEXT.schema},
    )
    await fleet.table.transact([marker])
    assert await read_marker(fleet.table) == closed
    fleet.pass_time()
    for call in (
        lambda: fleet.old.pipelines.reading.one(made.id),
        lambda: names_in(fleet.old, USA),
        lambda: make(fleet.old, USA, "second"),
        fleet.old_table.ping,
    ):
        with pytest.raises(TooOld, match="too old to read the table"):
            await call()
