"""The benchmark of the tag search reads the same as the server, and detects missing matches."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks import postings_table, read_cost_limits
from benchmarks.documented_tag_search import documents_way
from benchmarks.id_distributions import DISTRIBUTIONS, draw, id_of
from benchmarks.page_tables import write_tables
from benchmarks.postings_table import PostingsTable
from benchmarks.read_cost import Cost, CostMeteredTable
from benchmarks.tag_search import HEADER, table, tables
from benchmarks.tag_search_comparison import (
    WHOLE,
    Answer,
    Comparison,
    combinations,
    compare,
    compare_all,
)
from benchmarks.tag_tables import MANY_TAGS, SAMPLE_TAGS, bare_range, covering_range, world_of
from penstock.datastore.clock import Clock
from penstock.datastore.records import Output, Tag, Transform, Transformer, ValueType
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.sqlite.rows import encode
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key, Put, Query, Range, Table, key_of
from penstock.datastore.tag_search.tags import TagFilter
from penstock.datastore.text import is_id

SIZES = (10, 1_000)
UNIVERSE = 20_000
ADMIN = Caller("ana", {ROOT: Role.ADMIN})
TRANSFORMER = Transformer(
    parameters=(),
    transforms=(
        Transform(
            index=0, formula="1", outputs=(Output(index=0, key="one", type=ValueType.NUMBER),)
        ),
    ),
)
DOCS = Path(__file__).parents[2] / "docs" / "tag-search.md"


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[SqliteTable]:
    opened = SqliteTable.open(tmp_path / "table.db")
    await opened.create()
    yield opened
    await opened.close()


def lists_of(distribution: str) -> list[list[str]]:
    return draw(distribution, [size for size in SIZES for _ in range(4)], UNIVERSE)


async def create(store: Store, group: GroupPath, name: str, tags: dict[str, str]) -> str:
    created = await store.open_session(ADMIN).pipelines.writing.create(
        group,
        {
            "name": name,
            "tags": tuple(Tag(key=key, value=value) for key, value in tags.items()),
            "transformer": TRANSFORMER,
        },
        None,
    )
    return created.id


async def test_rows_of_the_benchmark_are_to_the_byte_those_that_a_create_writes(
    embedded: SqliteTable,
) -> None:
    written = {key: value.replace("#", "/") for key, value in SAMPLE_TAGS.items()}
    store = Store(embedded, Clock(new_id=lambda: id_of(7)), shards=1)
    await create(store, ROOT, "one", {**written, "quality 00": "Steel"})
    world = world_of([[id_of(7)]])
    (partition,) = world.covering.partitions.values()
    row = partition.row(0)
    found = (await embedded.get([key_of(row)])).items[key_of(row)]
    assert encode({**found}) == encode(row)
    ((count, counted),) = world.covering.items.items()
    labelled = {**counted, "label": "Steel", "since": id_of(7)}
    assert (await embedded.get([count])).items[count] == labelled


async def load(table: Table, source: PostingsTable) -> None:
    rows = [
        partition.row(position)
        for partition in source.partitions.values()
        for position in range(len(partition.sks))
    ]
    rows += source.items.values()
    for start in range(0, len(rows), 25):
        await table.write([Put(row) for row in rows[start : start + 25]])


async def test_pages_and_units_are_those_of_the_embedded_table(embedded: SqliteTable) -> None:
    world = world_of(draw("bursty", (10, 300), UNIVERSE), other_tags=MANY_TAGS)
    await load(embedded, world.covering)
    chance = Random(1)
    for _ in range(200):
        tag = chance.choice(world.tags)
        place = covering_range(tag)
        sks = [place.prefix + id_of(chance.randrange(UNIVERSE)) for _ in range(3)]
        sks[0] = chance.choice([sks[0], *world.covering.partitions[place.pk].sks])
        low, high = sorted(sks[1:])
        query = Query(
            partition=place.pk,
            range=chance.choice([Range(place.prefix), Range(), Range(place.prefix, low, high)]),
            descending=chance.choice([False, True]),
            limit=chance.choice([None, 1, 12, 300, 301]),
            consistent=chance.choice([False, True]),
        )
        after = chance.choice([None, Key(place.pk, sks[0])])
        if after is None or query.range.low is None or low <= after.sk <= high:
            query = replace(query, after=after)
        assert await world.covering.query(query) == await embedded.query(query)
    counts = [*world.covering.items, Key("TA:/:unknown", "TA:P:01:x")]
    assert await world.covering.get(counts) == await embedded.get(counts)


@pytest.mark.parametrize("descending", [False, True])
async def test_a_page_of_one_megabyte_ends_where_that_of_the_embedded_table_does(
    embedded: SqliteTable, *, descending: bool
) -> None:
    large = {f"key {n:02}": "v" * 1_000 for n in range(40)}
    world = world_of([[id_of(number) for number in range(60)]], other_tags=large)
    await load(embedded, world.covering)
    place = covering_range(world.tags[0])
    first = Query(partition=place.pk, range=Range(place.prefix), descending=descending)
    page = await world.covering.query(first)
    assert (len(page.items), page.units) == (25, 123.5)
    assert page == await embedded.query(first)
    second = replace(first, after=page.last)
    assert await world.covering.query(second) == await embedded.query(second)


def test_ids_are_uuids_of_version_7_in_the_order_of_their_numbers() -> None:
    ids = [id_of(number) for number in range(0, 1_000_000, 997)]
    assert ids == sorted(set(ids))
    assert all(is_id(id) and id[14] == "7" and id[19] == "8" for id in ids)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_lists_are_as_long_as_asked_for_ascending_and_always_the_same(distribution: str) -> None:
    lists = lists_of(distribution)
    assert [len(set(ids)) for ids in lists] == [10] * 4 + [1_000] * 4
    assert all(ids == sorted(ids) for ids in lists)
    assert lists == lists_of(distribution)
    meet = len(set(lists[0]) & set(lists[4]))
    assert meet == {"independent": 1, "nested": 10, "bursty": 0}[distribution]


@pytest.mark.parametrize("page_bytes", [150, 700, 5_000])
@pytest.mark.parametrize("limit", [1, 3, WHOLE])
async def test_the_documents_way_finds_what_set_algebra_says_in_pages_of_any_size(
    monkeypatch: pytest.MonkeyPatch, page_bytes: int, limit: int
) -> None:
    monkeypatch.setattr(postings_table, "PAGE_BYTES", page_bytes)
    chance = Random(page_bytes)
    for _ in range(40):
        lists = [
            sorted({id_of(chance.randrange(60)) for _ in range(chance.choice([0, 5, 80]))})
            for _ in range(chance.choice([2, 3]))
        ]
        world = world_of(lists)
        expected = sorted(set.intersection(*map(set, lists)), reverse=True)[:limit]
        measured = CostMeteredTable(world.bare)
        assert await documents_way(measured, [bare_range(tag) for tag in world.tags], limit) == (
            expected
        )


async def test_costs_of_independent_lists_are_known_exactly() -> None:
    world = world_of(lists_of("independent"))
    assert world.row_sizes() == (142, 144, 174)
    assert world.row_sizes(bare=True) == (72, 72, 72)
    both = [world.tags[0], world.tags[4]]
    assert await compare(world, both, WHOLE) == Answer(
        1, document=Cost(18.5, 2, 1), bare=Cost(9.5, 2, 1), ours=Cost(1.0, 2, 1)
    )
    long = [world.tags[4], world.tags[5]]
    assert await compare(world, long, 20) == Answer(
        20, document=Cost(36.0, 2, 1), bare=Cost(18.0, 2, 1), ours=Cost(10.5, 8, 5)
    )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
async def test_no_combination_costs_more_than_the_documents_way(distribution: str) -> None:
    compared = await compare_all(world_of(lists_of(distribution)), distribution, SIZES)
    assert len(compared) == 12
    assert read_cost_limits.broken_promises(compared) == []


async def test_other_groups_and_chains_are_looked_at_too() -> None:
    assert await read_cost_limits.broken_by_other_groups(SIZES) == []
    assert await read_cost_limits.broken_along_a_chain(SIZES) == []


def answer(document: float, ours: float) -> Answer:
    return Answer(1, Cost(document, 2, 1), Cost(1.0, 2, 1), Cost(ours, 3, 2))


def test_a_broken_promise_is_told() -> None:
    good, dear = answer(5_000.0, 100.0), answer(5_000.0, 100.5)
    extremes = Comparison("nested", (10, 100_000), good, dear)
    assert read_cost_limits.broken_promises([extremes]) == [
        "nested, 10 × 100,000, first 20: ours 100.5 / 3 / 2, the document's 5,000.0 / 2 / 1"
    ]
    assert read_cost_limits.broken_promises([replace(extremes, sizes=(10, 1_000))]) == []
    dearer = Comparison("bursty", (10, 10), answer(1.0, 1.5), answer(1.0, 1.0))
    assert read_cost_limits.broken_promises([dearer]) == [
        "bursty, 10 × 10, whole list: ours 1.5 / 3 / 2, the document's 1.0 / 2 / 1"
    ]


def test_the_page_has_a_place_for_each_table(tmp_path: Path) -> None:
    one = Comparison("independent", (10, 1_000), answer(5.0, 1.0), answer(4.0, 0.5))
    row = (
        "| 10 × 1,000 | 1 | 5.0 / 2 / 1 | 1.0 / 2 / 1 | 1.0 / 3 / 2 "
        "| 1 | 4.0 / 2 / 1 | 1.0 / 2 / 1 | 0.5 / 3 / 2 |"
    )
    assert table([one]) == f"{HEADER}\n{row}"
    page = tmp_path / "page.md"
    page.write_text(DOCS.read_text())
    write_tables(page, tables([one]))
    assert page.read_text().count(row) == 2


def test_the_documentation_shows_every_combination_of_every_distribution() -> None:
    page = DOCS.read_text()
    for sizes, _ in combinations(read_cost_limits.SIZES):
        name = " × ".join(f"{size:,}" for size in sizes)
        rows = page.count(f"\n| {name} | ")
        assert rows == len(DISTRIBUTIONS) + (len(sizes) == 2)


async def test_carriers_that_are_created_in_other_groups_change_no_units(
    embedded: SqliteTable,
) -> None:
    store = Store(embedded)
    usa, emea = GroupPath("/usa"), GroupPath("/emea")
    for group in (usa, emea):
        await store.open_session(ADMIN).groups.create(group, None)
    for number in range(30):
        await create(store, usa, f"{number}", {"x": "1", **({} if number % 3 else {"y": "1"})})
    alone = await units(store, usa)
    await asyncio.gather(
        *(create(store, emea, f"{number}", {"x": "1", "y": "1"}) for number in range(60))
    )
    # The two tags in `/` and `/usa`, the group, and ten pipelines in one batch.
    assert await units(store, usa) == alone == (10, 4 * 0.5 + 1 + 10 * 1, 4 + 1 + 1)


async def units(store: Store, group: GroupPath) -> tuple[int, float, int]:
    """Matches, read units and calls of a first page, including the pipelines themselves."""
    session = store.open_session(ADMIN)
    both = TagFilter(all=(Tag(key="x", value="1"), Tag(key="y", value="1")))
    page = await session.pipelines.listing.page(ListRequest(group=group, tags=both), Window())
    return len(page.entries), session.units.rcu, session.units.calls
