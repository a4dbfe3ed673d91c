"""Every table has the index: its items, their order, and that it follows every change."""

import pytest

from penstock.datastore.table.port import (
    INDEX_HASH,
    Check,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Put,
    Query,
    Range,
    Table,
    Update,
    key_of,
)
from tests.datastore.table.sample_items import item, store


def indexed_item(pk: str, sk: str, group: str) -> Item:
    return item(pk, sk, **{INDEX_HASH: group})


async def keys_in(table: Table, group: str, **more: object) -> list[tuple[str, str]]:
    page = await table.query(Query(partition=group, index=True, **more))  # type: ignore[arg-type]
    assert page.last is None
    return [key_of(each) for each in page.items]


async def test_the_index_holds_the_whole_items_that_name_a_group(table: Table) -> None:
    there = indexed_item("p", "s", "g") | {"more": [1, "a"]}
    await store(table, [there, item("p", "t"), indexed_item("p", "u", "h")])

    page = await table.query(Query(partition="g", index=True))

    assert page.items == (there,)


async def test_the_index_is_in_the_order_of_pk_both_ways(table: Table) -> None:
    pks = ["a", "a:", "b", "é", "\uff5e", "\U0001f600"]
    await store(table, (indexed_item(pk, "s", "g") for pk in reversed(pks)))

    assert await keys_in(table, "g") == [(pk, "s") for pk in pks]
    assert await keys_in(table, "g", descending=True) == [(pk, "s") for pk in reversed(pks)]


RANGES = (
    (Range(prefix="b:"), ["b:1", "b:2", "b:3"]),
    (Range(low="b:2"), ["b:2", "b:3", "c"]),
    (Range(high="b:1"), ["a", "b:1"]),
    (Range(prefix="b:", low="b:2"), ["b:2", "b:3"]),
    (Range(prefix="b:", high="b:2"), ["b:1", "b:2"]),
    (Range(low="a", high="b:1"), ["a", "b:1"]),
)


async def test_a_range_of_the_index_is_one_of_pks(table: Table) -> None:
    await store(table, (indexed_item(pk, "s", "g") for pk in ("a", "b:1", "b:2", "b:3", "c")))

    for wanted, found in RANGES:
        up = await keys_in(table, "g", range=wanted)
        down = await keys_in(table, "g", range=wanted, descending=True)
        assert (wanted, up) == (wanted, [(pk, "s") for pk in found])
        assert (wanted, down) == (wanted, [(pk, "s") for pk in reversed(found)])


async def test_a_page_of_the_index_starts_behind_a_key_that_need_not_exist(table: Table) -> None:
    await store(table, (indexed_item(pk, "s", "g") for pk in "abcd"))

    async def behind(pk: str, *, descending: bool) -> list[str]:
        found = await keys_in(table, "g", after=Key(pk, "s"), descending=descending)
        return [pk for pk, _ in found]

    assert await behind("b", descending=False) == ["c", "d"]
    assert await behind("bb", descending=False) == ["c", "d"]
    assert await behind("b", descending=True) == ["a"]
    assert await behind("bb", descending=True) == ["b", "a"]


@pytest.mark.parametrize("descending", [False, True])
async def test_pages_of_the_index_meet_each_item_of_one_pk_once(
    table: Table, descending: bool
) -> None:
    keys = [Key(pk, sk) for pk in "ab" for sk in "xyz"]
    await store(table, (indexed_item(*key, "g") for key in keys))

    met: list[Key] = []
    last: Key | None = None
    for _ in range(4):
        query = Query(partition="g", index=True, limit=2, after=last, descending=descending)
        page = await table.query(query)
        met += map(key_of, page.items)
        last = page.last
        if last is None:
            break

    assert last is None
    assert sorted(met) == keys
    assert [key.pk for key in met] == sorted((key.pk for key in keys), reverse=descending)


async def test_the_index_follows_puts_updates_and_deletes(table: Table) -> None:
    await table.transact([Put(indexed_item("p", "s", "g"))])
    await table.transact([Update(key=Key("p", "s"), set={INDEX_HASH: "h", "n": 1})])
    assert await keys_in(table, "g") == []
    assert await keys_in(table, "h") == [("p", "s")]

    await table.transact([Update(key=Key("p", "s"), set={"n": 2})])
    page = await table.query(Query(partition="h", index=True))
    assert page.items == (indexed_item("p", "s", "h") | {"n": 2},)

    await table.transact([Update(key=Key("p", "s"), remove=(INDEX_HASH,))])
    assert await keys_in(table, "h") == []

    await table.transact([Update(key=Key("p", "s"), default={INDEX_HASH: "i"})])
    assert await keys_in(table, "i") == [("p", "s")]

    await table.transact([Put(item("p", "s"))])
    assert await keys_in(table, "i") == []

    await table.write([Put(indexed_item("p", "s", "j"))])
    assert await keys_in(table, "j") == [("p", "s")]

    await table.write([Delete(Key("p", "s"))])
    assert await keys_in(table, "j") == []


async def test_a_failed_transaction_leaves_the_index_as_it_was(table: Table) -> None:
    await store(table, [indexed_item("p", "s", "g")])

    with pytest.raises(ConditionFailed):
        await table.transact(
            [
                Update(key=Key("p", "s"), set={INDEX_HASH: "h"}),
                Put(indexed_item("q", "s", "h")),
                Check(Key("r", "s"), Exists()),
            ]
        )

    assert await keys_in(table, "g") == [("p", "s")]
    assert await keys_in(table, "h") == []
