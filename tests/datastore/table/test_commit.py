"""Writes in one transaction, whose refusals are failures or other writes."""

import pytest

from penstock.datastore.errors import IllegalState, NameTaken, Unavailable
from penstock.datastore.table.commit import ATTEMPTS, StaleRead, Write, commit
from penstock.datastore.table.port import (
    Compare,
    ConditionFailed,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Table,
    Update,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite

pytestmark = on_sqlite

A, B = Key("A", "A"), Key("B", "B")
TAKEN = NameTaken("P", "n", "/", None)
FROZEN = IllegalState("It is frozen.", "frozen")


def put(key: Key, **attributes: int) -> Put:
    return Put({**key._asdict(), **attributes})


async def test_all_writes_are_done_or_none(table: Table) -> None:
    await commit(table, [Write(put(A, n=1)), Write(put(B, n=1))])
    before = await contents(table)
    failing = Write(Put(put(B).item, Missing()), lambda _: TAKEN)
    with pytest.raises(NameTaken) as raised:
        await commit(table, [Write(put(A, n=2)), failing])
    assert raised.value is TAKEN
    assert await contents(table) == before == {A: put(A, n=1).item, B: put(B, n=1).item}


async def test_a_refusal_is_given_the_item_that_stood_there(table: Table) -> None:
    await commit(table, [Write(put(A, n=7))])
    met: list[Item | None] = []

    def record_item(standing: Item | None) -> Exception:
        met.append(standing)
        return TAKEN

    for operation in (Put(put(A).item, Missing()), Update(key=B, add={"n": 1}, condition=Exists())):
        with pytest.raises(NameTaken):
            await commit(table, [Write(operation, record_item)])
    assert met == [{"pk": "A", "sk": "A", "n": 7}, None]


async def test_a_write_offered_in_its_place_is_tried_with_all_the_others(table: Table) -> None:
    await commit(table, [Write(put(A, n=1))])
    instead = Write(Update(key=A, add={"n": 1}, condition=Exists()))
    await commit(table, [Write(put(B)), Write(Put(put(A).item, Missing()), lambda _: instead)])
    assert await contents(table) == {A: put(A, n=2).item, B: put(B).item}


async def test_the_first_failure_is_raised(table: Table) -> None:
    absent = [
        Write(Update(key=A, add={"n": 1}, condition=Exists()), lambda _: FROZEN),
        Write(Update(key=B, add={"n": 1}, condition=Exists()), lambda _: TAKEN),
    ]
    with pytest.raises(IllegalState):
        await commit(table, absent)
    with pytest.raises(NameTaken):
        await commit(table, absent[::-1])


async def test_having_moved_comes_before_any_other_failure(table: Table) -> None:
    writes = [
        Write(Update(key=A, add={"n": 1}, condition=Exists()), lambda _: TAKEN),
        Write(Put(put(B).item, Compare("revision", "=", 1))),
    ]
    with pytest.raises(StaleRead):
        await commit(table, writes)
    assert await contents(table) == {}


async def test_a_failure_beside_an_offered_write_ends_the_commit(table: Table) -> None:
    offered = Write(Update(key=A, add={"n": 1}, condition=Exists()), lambda _: Write(put(A)))
    with pytest.raises(NameTaken):
        await commit(
            table,
            [offered, Write(Update(key=B, add={"n": 1}, condition=Exists()), lambda _: TAKEN)],
        )
    assert await contents(table) == {}


async def test_writes_that_are_refused_for_ever_are_given_up(table: Table) -> None:
    tries = 0

    def again(_standing: Item | None) -> Write:
        nonlocal tries
        tries += 1
        return never

    never = Write(Update(key=A, add={"n": 1}, condition=Exists()), again)
    with pytest.raises(Unavailable):
        await commit(table, [never])
    assert tries == ATTEMPTS
    with pytest.raises(ConditionFailed):
        await table.transact([never.operation])
