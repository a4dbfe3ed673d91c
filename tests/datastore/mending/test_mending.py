"""Rows that differ from their sources are found, named and repaired; others stay as they are."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock.datastore.mending.differences import Differences, find_differences
from penstock.datastore.mending.repair import Repair
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import LISTED, PIPELINE
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import (
    Delete,
    Item,
    Key,
    Operation,
    Page,
    Put,
    Scan,
    Table,
    Update,
)
from tests.datastore.moving.furnished_store import furnish, ignore_progress, open_empty
from tests.support.consistency_check import Rows, contents, contents_with_logs, faults
from tests.support.old_rows import list_whole_row
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    create_groups,
    make,
    tags,
    without_moto,
)
from tests.support.stores import TWO
from tests.support.table_interceptors import InterceptedTable, InterruptedTable

T = TypeVar("T")


async def differences(table: Table, segments: int = 1) -> Differences:
    return await find_differences(table, segments, ignore_progress)


def leader_is(pk: str, sk: str) -> Callable[[Key], bool]:
    return lambda key: key.pk.startswith(pk) and key.sk.startswith(sk)


def first(rows: Rows, pk: str, sk: str, has: str = "pk") -> Key:
    """The first key that begins so, of a row with the attribute."""
    return next(key for key in sorted(rows) if leader_is(pk, sk)(key) and has in rows[key])


def damages(rows: Rows) -> dict[Key, Operation]:
    """A damage of each kind, by the key of the row that it damages."""
    lost = [
        first(rows, "T:", "T:"),
        first(rows, "P:", "G:"),
        first(rows, "C:", "L"),
        first(rows, "AID:P:", "G:", "id"),
        first(rows, "TA:", "TA:P:01"),
        first(rows, "U:ann", "AUL:"),
        first(rows, "EL:", "EL:"),
        first(rows, "U:ann", "AR:"),
        first(rows, "C:", "UB:"),
    ]
    posting = rows[first(rows, "T:", "T:")]
    needless: list[Item] = [
        {**posting, "pk": "T:/usa:no"},
        {"pk": "D:018f3b6e-0000-7000-8000-000000000001", "sk": "L", "siKey1": "D"},
        {"pk": "AID:C:nobody", "sk": "G:/usa", "id": "018f3b6e-0000-7000-8000-000000000001"},
        {"pk": "EE:/usa:failed", "sk": "EE:0000000000001:018f3b6e-0000-7000-8000-000000000001"},
        {"pk": "PS:/usa", "sk": "PS:/eu:018f3b6e-0000-7000-8000-000000000001"},
        {"pk": "U:ann", "sk": "AUG:jazz:nothing", "title": "x", "durationMs": 1},
        {"pk": "TA:/usa:no", "sk": "TA:P", "count": 1, "label": "no", "siKey1": "TA:/usa:P"},
    ]
    counts: list[Operation] = [
        Update(key=first(rows, "G:/", "G:/usa", "children"), add={"children": 2}),
        Update(key=first(rows, "TA:", "TA:P", "siKey1"), add={"count": -1}),
        Update(key=first(rows, "P:", "PEC"), add={"count": 5}),
        Update(key=first(rows, "D:", "UC"), add={"count": 1}),
        Update(key=first(rows, "AID:P:", "G:/", "below"), add={"below": 1}),
        Update(key=first(rows, "RC:", "RC:"), add={"runs": 2}),
        Update(key=first(rows, "U:ann", "U"), add={"size": 10}),
    ]
    cover = [key for key in sorted(rows) if key.pk.startswith("T:") and key not in lost][3]
    changed = Update(key=cover, set={"tags": {"other": "tag"}})
    operations: list[Operation] = [*map(Delete, lost), *map(Put, needless)]
    operations += [*counts, changed]
    return {operation.key: operation for operation in operations}


@pytest.mark.parametrize("name", TWO)
async def test_every_damage_is_found_and_repaired(tmp_path: Path, name: str) -> None:
    async with open_empty(name, tmp_path) as store:
        await furnish(store)
        table = store.table
        assert (await differences(table, store.segments)).total == 0
        before = await contents(table)
        damaged = damages(before)
        for operation in damaged.values():
            await table.transact([operation])

        found = await differences(table, store.segments)
        assert found.scanned == len(await contents_with_logs(table))
        keys = {*(row.key for row in found.rows), *(count.key for count in found.counts)}
        assert keys == damaged.keys()
        assert found.total == len(damaged)
        assert await Repair(table).run(found) == (len(damaged), 0)
        assert (await differences(table, store.segments)).total == 0
        assert await contents(table) == before


async def test_a_row_is_repaired_as_its_source_is_then(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "trips", "a=1")
    posting = Key("T:/usa:a", f"T:1:P:{made.id}")
    await store.table.write([Delete(posting)])
    found = await differences(store.table)
    assert [(one.key, one.standing) for one in found.rows] == [(posting, None)]

    async def grant() -> None:
        await session.pipelines.writing.grant(made.id, EU)

    racing = InterruptedTable(store.table, grant)
    assert await Repair(racing).run(found) == (1, 0)
    assert racing.other is None
    assert await faults(store.table) == []


@pytest.mark.parametrize("count", ["PEC", "UC"])
async def test_a_count_that_is_closed_stays_closed_where_it_counts_nothing(
    store: Store, count: str
) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "one")
    key = Key(f"P:{made.id}", count)
    await store.table.write([Put({**key._asdict(), "count": 2, "closed": "deleted"})])
    found = await differences(store.table)
    assert [(one.key, one.wanted) for one in found.counts] == [(key, {})]
    assert await Repair(store.table).run(found) == (1, 0)
    assert (await contents(store.table))[key] == {**key._asdict(), "count": 0, "closed": "deleted"}
    assert (await differences(store.table)).total == 0


async def test_a_count_that_a_write_changes_meanwhile_is_left(store: Store) -> None:
    session = await create_groups(replace(store, shards=1))
    await make(session, USA, "one")
    group = Key("GC:/usa", "GC:01")
    await store.table.transact([Update(key=group, add={"grants": 7})])
    found = await differences(store.table)
    assert [(one.wanted["grants"], one.standing["grants"]) for one in found.counts] == [(1, 8)]

    async def create() -> None:
        await make(session, USA, "two")

    assert await Repair(InterruptedTable(store.table, create)).run(found) == (0, 1)
    (left,) = (await differences(store.table)).counts
    assert (left.wanted["grants"], left.standing["grants"]) == (2, 9)


class StaleTable(InterceptedTable):
    """A table whose scans, of one page each, read counts first and pipelines later."""

    def __init__(self, table: Table, *scans: tuple[Rows, Rows]) -> None:
        super().__init__(table)
        self._scans = iter(scans)

    async def scan(self, scan: Scan) -> Page:
        early, late = next(self._scans)
        counts = [row for key, row in early.items() if not key.pk.startswith("P:")]
        pipelines = [row for key, row in late.items() if key.pk.startswith("P:")]
        return Page((*counts, *pipelines), None, 1)


async def test_a_right_count_of_what_comes_and_goes_during_the_scans_is_no_difference(
    store: Store,
) -> None:
    session = await create_groups(replace(store, shards=1))
    one = await make(session, USA, "one", "a=1")
    with_one = await contents(store.table)
    await make(session, USA, "two", "a=1")
    with_two = await contents(store.table)
    await session.pipelines.deleting.delete(one.id, 1)
    without_one = await contents(store.table)
    await make(session, USA, "three", "a=1")
    with_three = await contents(store.table)
    standing = StaleTable(store.table, (with_one, with_two), (with_one, with_two))
    assert len((await differences(standing)).counts) > 3
    racing = StaleTable(store.table, (with_one, with_two), (without_one, with_three))
    assert (await differences(racing)).counts == []


async def test_what_a_write_mends_between_the_scans_is_no_difference(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "one", "a=1")
    posting = Key("T:/usa:a", f"T:1:P:{made.id}")
    row = (await contents(store.table))[posting]
    await store.table.write([Delete(posting)])

    class MendedTable(InterceptedTable):
        """Gets its row back before the second scan."""

        scans = 0

        async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
            self.scans += 1
            if self.scans == 2:
                await self._table.write([Put(dict(row))])
            return await call

    racing = MendedTable(store.table)
    assert (await differences(racing)).total == 0
    assert racing.scans == 2


async def test_a_row_that_an_earlier_release_listed_needs_no_other_to_list_it(store: Store) -> None:
    session = await create_groups(store)
    whole, both = [await make(session, USA, name) for name in ("whole", "both")]
    await list_whole_row(store.table, PIPELINE, whole.id)
    await list_whole_row(store.table, PIPELINE, both.id, keep_small=True)
    found = await differences(store.table)
    needless = LISTED.key(kind="P", id=both.id)
    assert [(one.key, one.wanted) for one in found.rows] == [(needless, None)]
    assert await Repair(store.table).run(found) == (1, 0)
    listed = ListRequest(group=ROOT, include_child_groups=True, newest_first=False)
    page = await session.pipelines.listing.page(listed, Window(size=9))
    assert [one.name for _, one in page.entries] == ["whole", "both"]


async def test_a_name_that_two_resources_claim_is_left_to_people(store: Store) -> None:
    session = await create_groups(store)
    one = await make(session, USA, "one")
    two = await make(session, USA, "two")
    claim = Key("AID:P:one", "G:/usa")
    await store.table.write([Put({**claim._asdict(), "id": two.id})])
    found = await differences(store.table)
    assert [row.key for row in found.rows] == [claim]
    assert found.rows[0].wanted == {**claim._asdict(), "id": one.id}
    assert await Repair(store.table).run(found) == (0, 1)
    assert (await contents(store.table))[claim]["id"] == two.id


WIDE = [f"k{n}=a/b" for n in range(25)]
"""The rows of one group take 130 operations."""

IN_STEPS: dict[str, Callable[[Session, Any], Awaitable[object]]] = {
    "create": lambda session, _: make(session, USA, "more", *WIDE),
    "update": lambda session, made: session.pipelines.writing.update(
        made.id, made.version, {"tags": tags(*(f"n{n}=a" for n in range(40)))}
    ),
    "grant": lambda session, made: session.pipelines.writing.grant(made.id, SOUTH),
    "revoke": lambda session, made: session.pipelines.writing.revoke(made.id, EU),
    "delete": lambda session, made: session.pipelines.deleting.delete(made.id),
}


@without_moto
@pytest.mark.parametrize("name", IN_STEPS)
@pytest.mark.parametrize("repairs_at", [1, 2, 3])
async def test_a_repair_amid_the_steps_of_a_write_leaves_exact_counts(
    store: Store, name: str, repairs_at: int
) -> None:
    session = await create_groups(store)
    made = await make(session, NORTHWEST, "wide", *WIDE)
    made, _ = await session.pipelines.writing.grant(made.id, EU)

    async def repair() -> None:
        await Repair(store.table).run(await differences(store.table))

    racing = InterruptedTable(store.table, repair, writes=repairs_at)
    await IN_STEPS[name](replace(store, table=racing).open_session(SUPER), made)
    assert racing.other is None
    await store.finish_deletes()
    assert await faults(store.table) == []
