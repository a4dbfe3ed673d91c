"""A rewrite keeps the attributes that this release does not know, and drops those it removes."""

from typing import Any

import pytest

from penstock.datastore.audio.records import Audio
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.store import Store
from penstock.datastore.table.items import overwrite, unknown_attributes
from penstock.datastore.table.layout import KINDS, KindDefinition
from penstock.datastore.table.port import TTL, Item, Key, Missing, Put, Update
from tests.datastore.releases.sample_rewrites import REWRITES
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, create_groups, make_of

UNKNOWN: Item = {"license": {"name": "CC0", "years": [1, 2]}, "zone": "north"}


@pytest.mark.parametrize("name", REWRITES)
async def test_a_rewrite_keeps_what_a_newer_release_wrote(store: Store, name: str) -> None:
    rewrite = await REWRITES[name](store)
    await store.table.transact([Update(key=rewrite.key, set=UNKNOWN)])
    before = (await contents(store.table))[rewrite.key]
    await rewrite.write()
    key = rewrite.key if rewrite.find_moved is None else await rewrite.find_moved()
    after = (await contents(store.table))[key]
    assert {name: after[name] for name in UNKNOWN if name in after} == UNKNOWN
    assert {**after, "pk": "", "sk": ""} != {**before, "pk": "", "sk": ""} or key != rewrite.key


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
async def test_a_new_version_has_the_unknown_attributes_of_the_latest(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    made = await make_of(session, kind, USA, "first")
    await store.table.transact([Update(key=kind.latest.key(id=made.id), set=UNKNOWN)])
    await session.repository(kind).writing.update(made.id, 1, {"description": "second"})
    rows = await contents(store.table)
    version = rows[kind.version.key(id=made.id, version=2)]
    assert {name: version[name] for name in UNKNOWN} == UNKNOWN
    assert not UNKNOWN.keys() & rows[kind.version.key(id=made.id, version=1)].keys()


async def test_an_overwrite_is_a_put_that_keeps_unknown_attributes(store: Store) -> None:
    key: Item = {"pk": "U:ann", "sk": "AU:1"}
    whole: Item = {**key, "title": "old", "album": "Gold", TTL: 2**40, **UNKNOWN}
    for item in ({**key, "title": "new"}, {**key, "album": "Silver", "year": 1999}, key):
        await store.table.write([Put(whole)])
        await store.table.transact([overwrite(Audio, item)])
        row = (await store.table.get([Key("U:ann", "AU:1")], consistent=True)).items
        assert dict(row[Key("U:ann", "AU:1")]) == {**item, **UNKNOWN}
        assert unknown_attributes(Audio, row[Key("U:ann", "AU:1")]) == UNKNOWN


async def test_an_overwrite_makes_a_row_that_is_missing(store: Store) -> None:
    item: Item = {"pk": "U:ann", "sk": "AU:1", "title": "new"}
    await store.table.transact([overwrite(Audio, item, Missing())])
    assert (await contents(store.table))[Key("U:ann", "AU:1")] == item


async def test_a_resource_is_read_to_rewrite_with_what_is_unknown(store: Store) -> None:
    session = await create_groups(store)
    for kind in KINDS:
        made = await make_of(session, kind, USA, "first")
        reader = ResourceReader(kind, session.repository(kind).reading.access)
        assert await reader.one_to_rewrite(made.id) == (made, {}, False)
