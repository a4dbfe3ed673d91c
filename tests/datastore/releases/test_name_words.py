"""Things of earlier releases are found by the words of their names after an upgrade."""

from collections.abc import Sequence
from typing import Any

from penstock.datastore.audio.records import Audio
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, PIPELINE
from penstock.datastore.table.pages import Window
from penstock.datastore.table.schema_marker import place_marker
from penstock.datastore.upgrades.name_words import find_by_words
from penstock.datastore.upgrades.upgrade import Page, Step
from tests.datastore.audio.sample_library import BOB, add, drift, listener
from tests.support.consistency_check import contents, faults
from tests.support.old_rows import forget_title, forget_words
from tests.support.sample_resources import EU, SUPER, USA, create_groups, make, make_of, on_sqlite
from tests.support.table_interceptors import InterruptedTable


def ignore(_step: Step, _page: Page) -> None:
    """A report that nobody reads."""


WANTED = NameFilter(contains="rep")


async def find_names(store: Store) -> list[str]:
    """The names of all resources and of Ann's and Bob's tracks that have the wanted part."""
    session = store.open_session(SUPER)
    asked = ListRequest(group=ROOT, include_child_groups=True, name=WANTED)
    names = []
    for kind in KINDS:
        page = await session.repository(kind).listing.page(asked, Window(size=100))
        names += [one.name for _, one in page.entries]
    for library in (listener(store), listener(store, BOB)):
        tracks = await library.lists.by_title(WANTED, Window(size=100))
        names += [track.title for _, track in tracks.entries]
    return names


async def make_old(store: Store) -> tuple[Sequence[Any], Sequence[Audio]]:
    """Make resources of each kind and tracks of two users, as earlier releases wrote them."""
    session = await create_groups(store)
    made = []
    for kind in KINDS:
        one = await make_of(session, kind, USA, f"{kind.noun} report", "colour=red")
        one = await session.repository(kind).writing.grant(one.id, EU)
        await forget_words(store.table, kind, one[0])
        made.append(one[0])
    tracks = [await add(listener(store), "1", "Report"), await add(listener(store), "2", "Song")]
    tracks.append(await add(listener(store, BOB), "1", "Répertoire"))
    for track in tracks:
        await forget_title(store.table, track)
    return made, tracks


async def test_the_upgrade_finds_what_earlier_releases_wrote(store: Store) -> None:
    await make_old(store)
    assert await find_names(store) == []
    assert (await faults(store.table), await drift(store.table)) == ([], [])
    await place_marker(store.table)
    await store.upgrade_rows(ignore)
    assert await find_names(store) == [
        *(f"{kind.noun} report" for kind in KINDS),
        *("Report", "Répertoire"),
    ]
    assert (await faults(store.table), await drift(store.table)) == ([], [])
    rows, access = await contents(store.table), store._system_access(admin=True)
    assert sum([changed async for _, _, changed in find_by_words(access, None)]) == 0
    assert await contents(store.table) == rows


async def test_an_upgrade_goes_on_behind_each_page_that_it_reached(store: Store) -> None:
    await make_old(store)
    access = store._system_access(admin=True)
    pages = [page async for page in find_by_words(access, None)]
    assert sum(changed for _, _, changed in pages) == len(KINDS) + 3
    wanted = await contents(store.table)
    for cursor, _, _ in pages:
        assert sum([one[2] async for one in find_by_words(access, cursor)]) == 0
        assert await contents(store.table) == wanted


async def test_each_write_finds_its_resource_from_then_on(store: Store) -> None:
    (made, *others), (track, *_) = await make_old(store)
    session = store.open_session(SUPER)
    await session.pipelines.writing.update(made.id, 1, {"description": "new"})
    await session.calculations.writing.grant(others[0].id, ROOT)
    await session.datasets.writing.revoke(others[1].id, EU)
    await listener(store).editing.edit(track.id, {"year": 2001})
    assert await find_names(store) == [
        "pipeline report",
        "calculation report",
        "reference dataset report",
        "Report",
    ]
    assert (await faults(store.table), await drift(store.table)) == ([], [])


async def test_what_is_deleted_before_the_upgrade_leaves_nothing(store: Store) -> None:
    made, tracks = await make_old(store)
    await store.open_session(SUPER).pipelines.deleting.delete(made[0].id)
    await listener(store).editing.delete(tracks[0].id)
    assert [one for one in await faults(store.table) if "pk='L" not in one] == []
    assert await drift(store.table) == []
    words = [key for key in await contents(store.table) if "NW:" in key.pk or "AUW:" in key.sk]
    assert words == []


async def test_an_edit_notices_that_an_upgrade_wrote_the_words(store: Store) -> None:
    _, (track, *_) = await make_old(store)
    access = store._system_access(admin=True)

    async def upgrade() -> None:
        assert sum([one[2] async for one in find_by_words(access, None)]) == len(KINDS) + 3

    slow = Store(InterruptedTable(store.table, upgrade), files=store.files)
    await listener(slow).editing.edit(track.id, {"title": "Other"})
    assert await drift(store.table) == []
    page = await listener(store).lists.by_title(WANTED, Window())
    assert page.entries == ()


@on_sqlite
async def test_a_resource_with_many_grants_is_upgraded_in_steps(store: Store) -> None:
    session = await create_groups(store)
    name = "a b c d e f g h"
    made = await make(session, USA, name)
    for n in range(14):
        await session.groups.create(GroupPath(f"/eu/g{n}"), None)
        made, _ = await session.pipelines.writing.grant(made.id, GroupPath(f"/eu/g{n}"))
    await forget_words(store.table, PIPELINE, made)
    assert await faults(store.table) == []
    await place_marker(store.table)
    await store.upgrade_rows(ignore)
    assert await faults(store.table) == []
    assert len([key for key in await contents(store.table) if key.pk.startswith("NW:")]) == 15 * 8
