"""A session's table shows what the session wrote, also where reads and the index lag."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.table.layout import (
    EXECUTION,
    GRANT,
    LISTED,
    LOOSE_OBJECT,
    LOOSE_OBJECT_DUE,
    PIPELINE,
    QUOTA_GATE,
    STAGED,
    TAG,
)
from penstock.datastore.table.port import (
    Check,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Update,
)
from penstock.datastore.table.session_table import ReadConsistency, SessionTable
from tests.support.stores import open_table
from tests.support.table_interceptors import LaggingTable, TracedTable

LIST = Query(partition="P:one", index=True)


def row(number: int, partition: str | None = "P:one", text: str = "") -> Item:
    item: Item = {**EXECUTION.item(id=f"{number}", pipeline="one"), "text": text}
    return {name: value for name, value in item.items() if name != "siKey1"} | (
        {} if partition is None else {"siKey1": partition}
    )


async def walk(table: SessionTable, query: Query) -> list[tuple[str, object]]:
    """List the items of all pages; each page keeps its limit."""
    found: list[tuple[str, object]] = []
    while True:
        page = await table.query(query)
        assert len(page.items) <= (query.limit or len(page.items))
        assert page.items or page.last is None
        found += [(str(item["pk"]), item["text"]) for item in page.items]
        if page.last is None:
            return found
        query = replace(query, after=page.last)


async def open_lagging(held: AsyncExitStack, tmp_path: Path) -> LaggingTable:
    tables = [await held.enter_async_context(open_table("sqlite", tmp_path)) for _ in range(2)]
    return LaggingTable(*tables)


changes = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from(("P:one", "P:two", None, "deleted")),
        st.text("ab", max_size=2),
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(before=changes, own=changes, limit=st.integers(1, 4), descending=st.booleans())
async def test_pages_of_the_index_show_the_writes_of_the_session(
    tmp_path_factory: pytest.TempPathFactory,
    before: Sequence[tuple[int, str | None, str]],
    own: Sequence[tuple[int, str | None, str]],
    limit: int,
    descending: bool,
) -> None:
    async with AsyncExitStack() as held:
        lagging = await open_lagging(held, tmp_path_factory.mktemp("table"))
        model: dict[str, tuple[str | None, str]] = {}

        async def write(table: SessionTable, done: Sequence[tuple[int, str | None, str]]) -> None:
            for number, partition, text in done:
                key = EXECUTION.key(id=f"{number}")
                if partition == "deleted":
                    await table.transact([Delete(key)])
                    model.pop(key.pk, None)
                else:
                    await table.transact([Put(row(number, partition, text))])
                    model[key.pk] = (partition, text)

        await write(SessionTable(lagging), before)
        await lagging.catch_up()
        session = SessionTable(lagging)
        await write(session, own)
        for query in (LIST, replace(LIST, range=Range("PE:", "PE:2", "PE:7"))):
            low, high = query.range.low or "", query.range.high or "~"
            expected = sorted(
                ((pk, text) for pk, (at, text) in model.items() if at == "P:one"),
                reverse=descending,
            )
            asked = replace(query, limit=limit, descending=descending)
            expected = [one for one in expected if low <= one[0] <= high]
            assert await walk(session, asked) == expected
            known = ReadConsistency(consistent=True, written=tuple(session.written))
            assert await walk(SessionTable(lagging, known), asked) == expected


async def test_reads_are_consistent_from_the_first_write_on(tmp_path: Path) -> None:
    async with AsyncExitStack() as held:
        lagging = await open_lagging(held, tmp_path)
        key = PIPELINE.version.key(id="one", version=1)
        query = Query(partition=key.pk)
        await lagging.transact([Put({"pk": key.pk, "sk": key.sk})])
        session, fresh = SessionTable(lagging), SessionTable(lagging, ReadConsistency(True))
        assert (await session.get([key])).items == {}
        assert (await session.query(query)).items == ()
        assert key in (await fresh.get([key])).items
        assert len((await fresh.query(query)).items) == 1
        await session.transact([Put({"pk": "other", "sk": "other"})])
        assert key in (await session.get([key])).items
        assert len((await session.query(query)).items) == 1
        assert (session.has_written, fresh.has_written) == (True, False)
        assert (await SessionTable(lagging).get([key])).items == {}


async def test_rows_that_no_answer_shows_are_not_what_a_session_wrote(tmp_path: Path) -> None:
    async with AsyncExitStack() as held:
        session = SessionTable(await open_lagging(held, tmp_path))
        for key in (
            STAGED.key(id="1"),
            LOOSE_OBJECT.key(hash="1"),
            LOOSE_OBJECT_DUE.key(due=1, hash="1"),
            QUOTA_GATE.key(kind="bytes", holder="ann"),
        ):
            await session.transact([Put({"pk": key.pk, "sk": key.sk})])
            await session.write([Delete(key)])
        await session.transact([Check(STAGED.key(id="1"), Missing())])
        assert not session.has_written
        await session.transact([Put(STAGED.item(id="1")), Put({"pk": "other", "sk": "other"})])
        assert session.has_written


@pytest.mark.parametrize(
    ("operation", "named"),
    [
        (Put(row(1)), True),
        (Put({"pk": "x", "sk": "y"}), False),
        (Update(key=EXECUTION.key(id="1"), set={"state": "DONE"}), True),
        (Update(key=Key("x", "y"), set={"a": "z"}), False),
        (Update(key=EXECUTION.key(id="1"), remove=("siKey1",)), True),
        (Delete(GRANT.key(kind="P", id="1", group="/usa")), True),
        (Delete(PIPELINE.version.key(id="1", version=1)), False),
        (Delete(TAG.key(group="/usa", key="a", value=("b",), kind="P", id="1")), False),
        (Check(EXECUTION.key(id="1"), Exists()), False),
    ],
)
async def test_a_session_names_the_rows_by_which_it_may_change_the_index(
    tmp_path: Path, operation: Put | Update | Delete | Check, named: bool
) -> None:
    async with open_table("sqlite", tmp_path) as table:
        await table.transact([Put(row(1))])
        session = SessionTable(table)
        await session.transact([operation])
        assert list(session.written) == ([operation.key] if named else [])


@pytest.mark.parametrize(
    ("key", "partition", "reads"),
    [
        (GRANT.key(kind="P", id="1", group="/usa"), "G:/usa", 2),
        (GRANT.key(kind="P", id="1", group="/usa"), "G:/eu", 1),
        (EXECUTION.key(id="1"), "P:one", 2),
        (EXECUTION.key(id="1"), "P", 1),
        (LISTED.key(kind="P", id="1"), "P", 2),
        (LISTED.key(kind="C", id="1"), "P", 1),
        (PIPELINE.latest.key(id="1"), "P", 1),
    ],
)
async def test_only_rows_that_a_partition_may_list_are_read_for_its_pages(
    tmp_path: Path, key: Key, partition: str, reads: int
) -> None:
    async with open_table("sqlite", tmp_path) as table:
        traced = TracedTable(table)
        session = SessionTable(traced, ReadConsistency(written=(key,)))
        await session.query(Query(partition=partition, index=True))
        assert traced.reads == reads


async def test_rows_that_a_token_names_are_read_once_however_many_lists_are_read(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as held:
        table = await open_lagging(held, tmp_path)
        traced = TracedTable(table)
        keys = [EXECUTION.key(id=f"{number}") for number in range(3)]
        for number in range(3):
            await table.transact([Put(row(number, "P:one", "x"))])
        session = SessionTable(traced, ReadConsistency(consistent=True, written=tuple(keys)))
        traced.start()
        for _ in range(5):
            assert len((await session.query(LIST)).items) == 3
        assert traced.reads == 5 + 1
        await session.transact([Put(row(1, "P:one", "y"))])
        assert [item["text"] for item in (await session.query(LIST)).items] == ["x", "y", "x"]
