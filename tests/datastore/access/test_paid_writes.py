"""Callers pay for what their calls write: once, and for nothing that a condition kept out."""

import pytest

from penstock.datastore.access.access import CallPayments
from penstock.datastore.errors import NameTaken
from penstock.datastore.records import Pipeline
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable, Units
from penstock.datastore.table.port import ConditionFailed, Key, Missing, Put, Table
from tests.datastore.audio.sample_library import ANN, add
from tests.support.consistency_check import contents
from tests.support.sample_resources import (
    NORTHWEST,
    SUPER,
    draft,
    make,
    open_one_shard,
)
from tests.support.work_account import Account

ARTISTS = tuple(f"Artist {n}" for n in range(16))
TAGS = tuple(f"k{n}=v" for n in range(40))
UNITS = {317.0: 158, 315.0: 157}
"""What a pipeline of forty tags costs by its write units, which DynamoDB counts a little lower."""


def paying_session(store: Store) -> tuple[Session, Account]:
    account = Account()
    return store.open_session(SUPER, account), account


async def create(session: Session, name: str, key: str | None = None) -> Pipeline:
    return await session.pipelines.writing.create(NORTHWEST, draft(name, *TAGS), key)


async def test_a_track_pays_for_the_rows_of_its_sixteen_artists_once(store: Store) -> None:
    track = await add(store.open_session(ANN).audio, "1.mp3", "Chorus")
    account = Account()
    session = store.open_session(ANN, account)
    await session.audio.editing.edit(track.id, {"artists": ARTISTS}, 1)
    # 39 rows; they were refused once, because there were no artists of these names.
    assert (session.units.wcu, session.units.written) == (156.0, 78.0)
    assert (account.taken, account.owed) == (0, 39)


async def test_a_pipeline_pays_for_the_rows_of_its_forty_tags(store: Store) -> None:
    session, account = paying_session(await open_one_shard(store))
    await create(session, "Smelt")
    assert (account.taken, account.owed) == (0, UNITS[session.units.written])


async def test_a_repeat_with_the_same_key_pays_for_no_rows(store: Store) -> None:
    session, account = paying_session(await open_one_shard(store))
    made = await create(session, "Smelt", "key")
    owed = account.owed
    again, repeated = paying_session(store)
    assert (await create(again, "Smelt", "key")) == made
    assert owed > 150
    assert (repeated.taken, repeated.owed) == (0, 0)


async def test_a_refused_change_pays_for_no_rows_and_changes_nothing(store: Store) -> None:
    session, _ = paying_session(await open_one_shard(store))
    await make(session, NORTHWEST, "Smelt")
    before = await contents(store.table)
    again, account = paying_session(store)
    with pytest.raises(NameTaken):
        await create(again, "Smelt")
    assert (account.taken, account.owed) == (0, 0)
    assert await contents(store.table) == before


async def test_a_caller_in_debt_ends_what_was_begun(store: Store) -> None:
    """The rows of a pipeline are written in several transactions: none is refused in the middle."""
    account = Account(most=0)
    session = (await open_one_shard(store)).open_session(SUPER, account)
    made = await create(session, "Smelt")
    assert (account.taken, account.owed) == (0, UNITS[session.units.written])
    assert await session.pipelines.reading.one(made.id) == made


async def test_transactions_and_batches_are_paid_by_their_write_units(table: Table) -> None:
    account, units = Account(), Units()
    paid = MeteredTable(table, units, CallPayments(account, 2, units))
    await paid.transact([Put({"pk": "a", "sk": "x"})])
    assert account.owed == 1
    await paid.transact([Put({"pk": "b", "sk": "x", "text": "t" * 3_000})])
    assert account.owed == 4
    with pytest.raises(ConditionFailed):
        await paid.transact([Put({"pk": "a", "sk": "x"}, Missing())])
    assert account.owed == 4
    for name, owed in (("c", 4), ("d", 5), ("e", 5), ("f", 6)):
        await paid.write([Put({"pk": name, "sk": "x"})])
        assert account.owed == owed
    assert (account.taken, units.wcu, units.written) == (0, 14.0, 12.0)
    assert len((await table.get([Key(name, "x") for name in "abcdef"])).items) == 6
