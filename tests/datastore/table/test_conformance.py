"""Every table reads in the same way: gets, queries, pages, order, the index, and their units."""

from decimal import Decimal

import pytest

from penstock.datastore.table.port import Item, Key, Page, Put, Query, Range, Table, Value, key_of
from tests.datastore.table.sample_items import (
    KB,
    item,
    make_sized_item,
    moto_deviates,
    sort_keys,
    sort_keys_of,
    store,
    stored_item,
)

ORDERED = (
    "A",
    "a",
    "a\x00",
    "a ",
    "aa",
    "b",
    "\x7f",
    "\x80",
    "é",
    "߿",
    "ࠀ",
    "\ud7ff",
    "\ue000",
    "\uff5e",
    "\uffff",
    "\U00010000",
    "\U0001f600",
    "\U0010fffe",
)


async def test_an_item_that_is_missing_is_absent_and_is_paid_for(table: Table) -> None:
    eventual = await table.get([Key("p", "s")])
    consistent = await table.get([Key("p", "s")], consistent=True)

    assert (eventual.items, eventual.units) == ({}, 0.5)
    assert (consistent.items, consistent.units) == ({}, 1.0)


async def test_every_kind_of_value_comes_back_as_it_was_written(table: Table) -> None:
    written: Item = item(
        "p",
        "s",
        nothing=None,
        yes=True,
        no=False,
        empty="",
        text='é "quoted" \\ \x00 \U0001f600',
        whole=-7,
        part=Decimal("1.5"),
        list=[1, "a", None, True, [], {}, [Decimal("0.1")]],
        map={"a": {"b": {"c": [""]}}, "n": None, "ü": 1},
    )

    await table.transact([Put(written)])

    read = await stored_item(table, "p", "s")
    assert read == written
    assert read["yes"] is True
    assert read["no"] is False
    assert type(read["whole"]) is int
    assert type(read["part"]) is Decimal


async def test_numbers_are_exact(table: Table) -> None:
    numbers: list[Value] = [
        0,
        -1,
        2**63,
        -(2**64) - 1,
        int("9" * 38),
        -int("1234567890" * 3 + "12345678"),
        10**125,
        Decimal("0.1"),
        Decimal("1.10"),
        Decimal("1E+2"),
        Decimal("-0.00000000000000000000000000000000000001"),
        Decimal("1234567890123456789.0123456789012345678"),
        Decimal("9.9999999999999999999999999999999999999E+125"),
        Decimal("1E-130"),
        Decimal("-1E-130"),
    ]
    single = {f"n{place}": number for place, number in enumerate(numbers)}
    written = item("p", "s", inside=numbers, **single)

    await table.transact([Put(written)])

    read = await stored_item(table, "p", "s")
    assert read == written
    assert {type(read[name]) for name in single} == {int, Decimal}


async def test_a_batch_finds_what_there_is(table: Table) -> None:
    keys = [Key("p", f"{number:03}") for number in range(100)]
    await store(table, (item(*key) for key in keys[::2]))

    batch = await table.get(keys)
    consistent = await table.get(keys, consistent=True)

    assert batch.items == {key: item(*key) for key in keys[::2]}
    assert consistent.items == batch.items
    assert (batch.units, consistent.units) == (50.0, 100.0)


async def test_each_item_of_a_batch_is_rounded_up_to_4_kb_on_its_own(table: Table) -> None:
    sizes = (4 * KB, 4 * KB + 1, 12 * KB)
    items = [make_sized_item("p", str(place), size) for place, size in enumerate(sizes)]
    await store(table, items)

    batch = await table.get([key_of(each) for each in items])
    one = await table.get([key_of(items[1])], consistent=True)

    assert batch.units == 0.5 + 1.0 + 1.5
    assert one.units == 2.0


async def test_a_batch_above_16_mb_is_whole(table: Table) -> None:
    items = [make_sized_item("p", f"{number:02}", 390 * KB) for number in range(45)]
    await store(table, items)

    batch = await table.get([key_of(each) for each in items])

    assert batch.items == {key_of(each): each for each in items}
    assert batch.units == 45 * 49.0


async def test_a_partition_is_in_the_order_of_utf_8_both_ways(table: Table) -> None:
    ordered = sorted(ORDERED, key=str.encode)
    assert ordered != sorted(ORDERED, key=lambda text: text.encode("utf-16-be"))
    await store(table, (item("p", sk) for sk in reversed(ORDERED)))
    await store(table, [item("o", "x"), item("p\x00", "x"), item("q", "x")])

    assert await sort_keys(table, Query(partition="p")) == ordered
    assert await sort_keys(table, Query(partition="p", descending=True)) == ordered[::-1]


RANGES: tuple[tuple[Range, list[str]], ...] = (
    (Range(), ["S", "T:", "T:a", "T:a:1", "T:b", "T:b:9", "T:bé", "T:c", "T;", "U"]),
    (Range(prefix="T:"), ["T:", "T:a", "T:a:1", "T:b", "T:b:9", "T:bé", "T:c"]),
    (Range(prefix="T:b"), ["T:b", "T:b:9", "T:bé"]),
    (Range(prefix="T:x"), []),
    (Range(low="T:b"), ["T:b", "T:b:9", "T:bé", "T:c", "T;", "U"]),
    (Range(low="T:aa"), ["T:b", "T:b:9", "T:bé", "T:c", "T;", "U"]),
    (Range(high="T:a:1"), ["S", "T:", "T:a", "T:a:1"]),
    (Range(high="T:a:0"), ["S", "T:", "T:a"]),
    (Range(low="T:a", high="T:b"), ["T:a", "T:a:1", "T:b"]),
    (Range(low="T:b", high="T:b"), ["T:b"]),
    (Range(prefix="T:", low="T:b"), ["T:b", "T:b:9", "T:bé", "T:c"]),
    (Range(prefix="T:", high="T:a:1"), ["T:", "T:a", "T:a:1"]),
    (Range(prefix="T:b", low="T:b:", high="T:bz"), ["T:b:9"]),
)


async def test_a_range_is_a_prefix_and_inclusive_bounds(table: Table) -> None:
    await store(table, (item("p", sk) for sk in RANGES[0][1]))

    for wanted, found in RANGES:
        up = await sort_keys(table, Query(partition="p", range=wanted))
        down = await sort_keys(table, Query(partition="p", range=wanted, descending=True))
        assert (wanted, up, down) == (wanted, found, found[::-1])


async def test_a_page_starts_behind_a_key_that_need_not_exist(table: Table) -> None:
    await store(table, (item("p", sk) for sk in "abcd"))

    async def behind(sk: str, *, descending: bool = False) -> list[str]:
        query = Query(partition="p", after=Key("p", sk), descending=descending)
        return await sort_keys(table, query)

    assert await behind("b") == ["c", "d"]
    assert await behind("bb") == ["c", "d"]
    assert await behind("d") == []
    assert await behind("b", descending=True) == ["a"]
    assert await behind("bb", descending=True) == ["b", "a"]
    assert await behind("a", descending=True) == []


async def test_a_start_key_cuts_a_range_short(table: Table) -> None:
    await store(table, (item("p", sk) for sk in ("a", "t:1", "t:2", "t:3", "z")))
    wanted, after = Range(prefix="t:"), Key("p", "t:2")

    assert await sort_keys(table, Query(partition="p", range=wanted, after=after)) == ["t:3"]
    down = Query(partition="p", range=wanted, after=after, descending=True)
    assert await sort_keys(table, down) == ["t:1"]


@pytest.mark.parametrize("descending", [False, True])
async def test_pages_of_any_length_meet_each_item_once(table: Table, descending: bool) -> None:
    await store(table, (item("p", sk) for sk in "abcdef"))

    for limit in (1, 2, 3, 6, 7):
        pages = await pages_of(table, limit, descending=descending)
        met = [sk for page in pages for sk in sort_keys_of(page)]
        assert met == sorted("abcdef", reverse=descending)
        assert [len(page.items) for page in pages] == [limit] * (6 // limit) + [6 % limit]


async def pages_of(table: Table, limit: int, *, descending: bool) -> list[Page]:
    pages: list[Page] = []
    last: Key | None = None
    while not pages or last is not None:
        query = Query(partition="p", limit=limit, descending=descending, after=last)
        page = await table.query(query)
        last = page.last
        assert last is None or last == key_of(page.items[-1])
        pages.append(page)
    return pages


async def test_a_page_that_reaches_its_limit_at_the_end_says_where_it_stopped(table: Table) -> None:
    await store(table, [item("p", "a"), item("p", "b")])

    full = await table.query(Query(partition="p", limit=2))
    beyond = await table.query(Query(partition="p", limit=2, after=full.last))
    short = await table.query(Query(partition="p", limit=3))

    assert full.last == Key("p", "b")
    assert (beyond.items, beyond.last, beyond.units) == ((), None, 0.5)
    assert short.last is None


async def test_a_page_ends_before_it_passes_one_megabyte(table: Table) -> None:
    items = [make_sized_item("p", f"{number:02}", 100_000) for number in range(12)]
    await store(table, items)

    first = await table.query(Query(partition="p"))
    rest = await table.query(Query(partition="p", after=first.last))
    down = await table.query(Query(partition="p", descending=True, consistent=True))

    assert (first.items, first.last) == (tuple(items[:10]), Key("p", "09"))
    assert (rest.items, rest.last) == (tuple(items[10:]), None)
    assert (down.items, down.last) == (tuple(items[:1:-1]), Key("p", "02"))
    assert (first.units, rest.units, down.units) == (122.5, 24.5, 245.0)


@moto_deviates("it measures items by their JSON, not as AWS counts them")
async def test_a_page_holds_exactly_one_megabyte(table: Table) -> None:
    exact = [make_sized_item("exact", f"{number:02}", 128 * KB) for number in range(8)]
    over = [*(make_sized_item("over", f"{number:02}", 128 * KB) for number in range(7))]
    over.append(make_sized_item("over", "07", 128 * KB + 1))
    await store(table, exact + over)

    whole = await table.query(Query(partition="exact"))
    cut = await table.query(Query(partition="over"))

    assert (len(whole.items), whole.last, whole.units) == (8, None, 128.0)
    assert (len(cut.items), cut.last, cut.units) == (7, Key("over", "06"), 112.0)


async def test_a_page_is_rounded_up_to_4_kb_once(table: Table) -> None:
    await store(
        table, (make_sized_item("p", f"{number:03}", 200, index="g") for number in range(100))
    )

    eventual = await table.query(Query(partition="p"))
    consistent = await table.query(Query(partition="p", consistent=True))
    indexed = await table.query(Query(partition="g", index=True, consistent=True))

    assert len(eventual.items) == len(consistent.items) == len(indexed.items) == 100
    assert (eventual.units, consistent.units, indexed.units) == (2.5, 5.0, 2.5)


async def test_a_partition_that_is_missing_is_an_empty_page(table: Table) -> None:
    page = await table.query(Query(partition="nobody"))

    assert (page.items, page.last, page.units) == ((), None, 0.5)
