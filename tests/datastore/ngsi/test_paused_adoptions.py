"""Adoptions that are repeated, or go on after a pause, beside deletions from the copy."""

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument, Unavailable
from penstock.datastore.ngsi.adoption.adopt import TableAdopter
from penstock.datastore.ngsi.adoption.notes import LOOK_INTERVAL, AdoptionResult
from penstock.datastore.ngsi.dynamodb_destinations import DynamoDBDestinations
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.naming.table_names import adopted_name
from penstock.datastore.table.layout import ADOPTION
from penstock.datastore.table.port import Attributes, Put, Table, Update, key_of
from tests.datastore.ngsi.sample_destinations import open_dynamodb, unique_table_name
from tests.datastore.ngsi.test_foreign_tables import (
    ROW,
    SHAPES,
    all_items,
    create_table,
    put_items,
)
from tests.support.sample_resources import Watch
from tests.support.stores import TWO, open_files, open_table, quick_endpoint
from tests.support.table_interceptors import PausedTable

PAGE: Final = 3
ITEMS: Final = 10


async def open_foreign(destinations: DynamoDBDestinations) -> str:
    """Make a table of another program, with ten samples."""
    table = unique_table_name("s")[:20].replace("-", "")
    await create_table(destinations._client, table, SHAPES["Cygnus"])
    rows = [{**ROW, "recvTime": f"2015-04-20T13:16:15.{n}Z"} for n in range(ITEMS)]
    await put_items(destinations._client, table, *rows)
    return table


async def adopt(
    adopter: TableAdopter, table: str, service: str = "s", *, again: bool = False
) -> AdoptionResult:
    return await adopter.adopt(table, service, dry_run=False, again=again, progress=lambda: None)


async def empty_copy(destinations: DynamoDBDestinations, table: str) -> None:
    for item in await all_items(destinations, adopted_name(table)):
        await destinations.delete(adopted_name(table), [key_of(item)])


async def count_copies(destinations: DynamoDBDestinations, table: str) -> int:
    return len(await all_items(destinations, adopted_name(table)))


async def read_note(table: Table, name: str) -> Attributes:
    key = ADOPTION.key(table=name)
    return (await table.get([key], consistent=True)).items[key]


@pytest.fixture
async def destinations() -> AsyncIterator[DynamoDBDestinations]:
    opened = await open_dynamodb(quick_endpoint())
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.dynamodb_destinations.SCAN_PAGE", PAGE)


@pytest.mark.parametrize("name", TWO)
async def test_a_complete_adoption_copies_again_what_was_deleted_only_when_it_is_asked_to(
    destinations: DynamoDBDestinations, name: str, tmp_path: Path
) -> None:
    async with open_table(name, tmp_path) as table, open_files(tmp_path) as files:
        foreign = await open_foreign(destinations)
        adopter = TableAdopter(table, destinations, LargeValues(files), Clock(Watch()))
        first = await adopt(adopter, foreign)
        assert (first.copied, first.ended_at) == (ITEMS, None)
        await empty_copy(destinations, foreign)
        note = await read_note(table, foreign)

        repeated = await adopt(adopter, foreign)
        assert repeated == replace(first, ended_at=str(note["endedAt"]))
        with pytest.raises(BadArgument, match=r"for the service s\. Give --again"):
            await adopt(adopter, foreign, "t")
        assert await count_copies(destinations, foreign) == 0
        assert await read_note(table, foreign) == note

        assert await adopt(adopter, foreign, again=True) == first
        assert await count_copies(destinations, foreign) == ITEMS


async def test_what_an_earlier_release_adopted_is_not_known_as_complete(
    destinations: DynamoDBDestinations, tmp_path: Path
) -> None:
    async with open_table("sqlite", tmp_path) as table, open_files(tmp_path) as files:
        foreign = await open_foreign(destinations)
        begun = {"movedTo": adopted_name(foreign), "startedAt": "2015-04-20T13:16:15.000Z"}
        await table.write([Put({**ADOPTION.item(table=foreign), **begun})])
        adopter = TableAdopter(table, destinations, LargeValues(files), Clock(Watch()))
        assert (await adopt(adopter, foreign)).ended_at is None
        assert await count_copies(destinations, foreign) == ITEMS
        note = await read_note(table, foreign)
        assert {name: note[name] for name in begun} == begun


async def stop_or_end(adopter: TableAdopter, table: str) -> str | None:
    """Adopt a table; return what stopped it."""
    try:
        await adopt(adopter, table)
    except Unavailable as stopped:
        return stopped.message
    return None


async def pause_adoption(
    destinations: DynamoDBDestinations, name: str, tmp_path: Path, calls: int
) -> bool:
    """Pause an adoption behind so many calls, while another process ends it, and all is deleted.

    Returns False if it did not make as many.
    """
    watch = Watch()
    async with open_table(name, tmp_path) as table, open_files(tmp_path) as files:
        foreign = await open_foreign(destinations)
        values, notes = LargeValues(files), list[Attributes]()

        async def end_and_delete() -> None:
            watch.move(2 * LOOK_INTERVAL)
            await adopt(TableAdopter(table, destinations, values, Clock(watch)), foreign)
            await empty_copy(destinations, foreign)
            notes.append(await read_note(table, foreign))

        paused = PausedTable(table, end_and_delete, calls=calls)
        adopter = TableAdopter(paused, destinations, values, Clock(watch))
        stopped = await stop_or_end(adopter, foreign)
        if paused.left >= 0:
            return False
        assert stopped == f"Another process adopts the table {foreign} as well."
        # The page that was past its look may come again, and no other.
        assert await count_copies(destinations, foreign) <= PAGE, f"after {calls} calls"
        assert [await read_note(table, foreign)] == notes
    return True


@pytest.mark.parametrize(("name", "step"), [(TWO[0], 1), (TWO[1], 5)])
async def test_a_paused_adoption_copies_no_more_than_its_page_behind_the_end_of_another(
    destinations: DynamoDBDestinations, name: str, step: int, tmp_path: Path
) -> None:
    for calls in count(1, step):
        if not await pause_adoption(destinations, name, tmp_path, calls):
            break
    assert calls > 10


async def test_of_two_processes_that_adopt_a_table_the_later_one_goes_on(
    destinations: DynamoDBDestinations, tmp_path: Path
) -> None:
    async with open_table("sqlite", tmp_path) as table, open_files(tmp_path) as files:
        foreign = await open_foreign(destinations)

        async def take_over() -> None:
            taken = Update(key=ADOPTION.key(table=foreign), set={"holder": "other"})
            await table.transact([taken])

        paused = PausedTable(table, take_over, calls=3)
        adopter = TableAdopter(paused, destinations, LargeValues(files), Clock(Watch()))
        with pytest.raises(Unavailable, match=f"Another process adopts the table {foreign}"):
            await adopt(adopter, foreign)
        note = await read_note(table, foreign)
        assert (note["holder"], "after" in note, "endedAt" in note) == ("other", False, False)
