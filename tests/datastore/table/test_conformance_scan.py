"""Every table is scanned in the same way: pages, segments, prefixes, and every kind of value."""

from decimal import Decimal

import pytest

from penstock.datastore.table.port import Item, Key, Scan, Table, key_of
from tests.datastore.table.sample_items import KB, item, make_sized_item, store

ITEMS = [item(f"{letter}:{number}", "s", number=number) for letter in "ab" for number in range(9)]


async def scan_all(
    table: Table, *, segments: int = 1, prefix: str = "", limit: int | None = None
) -> list[Item]:
    """Read every page of every segment."""
    found = []
    for segment in range(segments):
        after: Key | None = None
        while True:
            scan = Scan(segment=segment, segments=segments, prefix=prefix, after=after, limit=limit)
            page = await table.scan(scan)
            found += [dict(each) for each in page.items]
            after = page.last
            if after is None:
                break
    return found


def by_key(items: list[Item]) -> list[Item]:
    return sorted(items, key=key_of)


async def test_an_empty_table_has_one_empty_page(table: Table) -> None:
    page = await table.scan(Scan())
    assert (page.items, page.last) == ((), None)


@pytest.mark.parametrize("limit", [None, 1, 7])
@pytest.mark.parametrize("segments", [1, 3])
async def test_a_scan_has_each_item_once(table: Table, segments: int, limit: int | None) -> None:
    await store(table, ITEMS)
    assert by_key(await scan_all(table, segments=segments, limit=limit)) == by_key(ITEMS)


@pytest.mark.parametrize("limit", [None, 1])
async def test_a_prefix_leaves_other_partitions_out(table: Table, limit: int | None) -> None:
    await store(table, ITEMS)
    assert by_key(await scan_all(table, prefix="b:", limit=limit)) == by_key(ITEMS[9:])
    assert await scan_all(table, prefix="c", limit=limit) == []


async def test_a_scan_goes_on_behind_a_page_of_a_megabyte(table: Table) -> None:
    large = [make_sized_item(f"p{number}", "s", 300 * KB) for number in range(8)]
    await store(table, large)
    assert len((await table.scan(Scan())).items) < len(large)
    assert by_key(await scan_all(table)) == by_key(large)


async def test_a_scan_reads_every_kind_of_value_exactly(table: Table) -> None:
    written = item(
        "p",
        "s",
        siKey1="g",
        nothing=None,
        yes=True,
        empty="",
        digits=12345678901234567890123456789012345678,
        part=Decimal("0.12345678901234567890123456789012345678"),
        small=Decimal("1E-130"),
        text='é "quoted" \\ \n \x00 \U0001f600',
        list=[1, "a", None, [], {}],
    )
    await store(table, [written])
    assert await scan_all(table) == [written]


@pytest.mark.parametrize(
    "scan", [Scan(segment=1), Scan(segment=-1), Scan(limit=0), Scan(segments=0)]
)
async def test_a_scan_that_makes_no_sense_is_refused(table: Table, scan: Scan) -> None:
    with pytest.raises(ValueError, match=r"segment|page"):
        await table.scan(scan)
