"""Rosters: however many calls make things at one moment, no more stand than may."""

import asyncio

import pytest

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import ROSTER
from penstock.datastore.table.port import Delete, Key, Missing, Put, Table
from penstock.datastore.table.rosters import Roster, read_roster
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite

pytestmark = on_sqlite

ROW = ROSTER.key(user="ann", kind="things")


def key_of_thing(id: str) -> Key:
    return Key(f"AK:{id}", "AK")


async def no_list() -> list[str]:
    """A list that shows nothing yet, as an index may that follows its table late."""
    return []


THINGS = Roster(ROW, "things of a user", 3, key_of_thing, no_list, lambda row: "over" not in row)


async def make(table: Table, id: str, **more: bool) -> None:
    row = {**key_of_thing(id)._asdict(), **more}
    await THINGS.add(table, id, [Write(Put(row, Missing()))])


async def make_at_once(table: Table, count: int) -> int:
    """Make things at one moment; count those that were made."""
    calls = (make(table, f"{n}") for n in range(count))
    ended = await asyncio.gather(*calls, return_exceptions=True)
    failures = [each for each in ended if each is not None]
    assert all(isinstance(each, LimitExceeded) for each in failures)
    return count - len(failures)


async def test_calls_at_one_moment_take_only_the_places_that_there_are(table: Table) -> None:
    assert await make_at_once(table, 8) == 3
    stored = await contents(table)
    assert len(stored) == 3 + 1
    with pytest.raises(LimitExceeded, match="things of a user") as refused:
        await make(table, "late")
    assert (refused.value.maximum, refused.value.actual) == (3, 4)
    assert await contents(table) == stored


async def test_what_is_removed_or_over_makes_room(table: Table) -> None:
    await make(table, "removed")
    await make(table, "over", over=True)
    await make(table, "stands")
    await table.write([Delete(key_of_thing("removed"))])
    await make(table, "new")
    assert {*(await read_roster(table, ROW)).ids} == {"stands", "new"}


async def test_a_thing_whose_answer_was_lost_is_made_once(table: Table) -> None:
    await make(table, "one")
    before = await contents(table)
    await make(table, "one")
    assert await contents(table) == before
