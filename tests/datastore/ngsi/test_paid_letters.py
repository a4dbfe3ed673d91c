"""Dead letters are paid by their size before they are unpacked, to be read or replayed."""

import pytest

from penstock.datastore.access.bucket_payments import FILE_PRICES
from penstock.datastore.access.work import STORED_SAMPLES, StoreKind, notification_units
from penstock.datastore.errors import ErrorCode, RateLimited, Unavailable
from penstock.datastore.ngsi.dead_letters import DeadLetter, ReplayResult
from penstock.datastore.ngsi.events import unpacked_size
from penstock.datastore.ngsi.repository import IngestRepository
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.objects.chunks import single_chunk
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    fail_first,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_replay import ONCE, make_letters
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import SUPER, on_sqlite
from tests.support.work_account import Account

pytestmark = on_sqlite

LARGE = {"speed": [7] * 20_000}
"""An entity without an id: 40 KB of a notification, and few bytes of a packed file."""

UNITS = notification_units(40_000)


def letters_of(world: SinkWorld, sink: NotificationSink, account: Account) -> IngestRepository:
    return world.store_beside(sink).open_session(SUPER, account).notifications


async def make_letter(world: SinkWorld, sink: NotificationSink) -> DeadLetter:
    await accept(sink, LARGE)
    (letter,) = await world.letters()
    packed = await sink.committer.letter_files.lines.read_packed(letter.file)
    assert unpacked_size(packed) > 100 * len(packed)
    return letter


async def test_who_reads_a_letter_pays_for_its_entities(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        letter, account = await make_letter(world, sink), Account()
        (dead,) = await letters_of(world, sink, account).letter_events(letter)
        assert dead.payload == LARGE
        assert UNITS <= account.taken < 1.1 * UNITS


async def test_a_letter_beyond_what_its_reader_has_left_is_not_unpacked(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.open_sink() as sink:
        letter, account = await make_letter(world, sink), Account(UNITS // 2)
        monkeypatch.delattr("penstock.datastore.ngsi.events.LineFiles.unpack")
        with pytest.raises(RateLimited):
            await letters_of(world, sink, account).letter_events(letter)


async def test_who_replays_a_letter_pays_for_it_or_leaves_it_as_it_is(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        letter, poor, rich = await make_letter(world, sink), Account(UNITS // 2), Account()
        refused = await letters_of(world, sink, poor).replay([letter.id])
        assert [(each.id, each.code) for each in refused.failures] == [
            (letter.id, ErrorCode.RATE_LIMITED)
        ]
        assert refused.replayed == []
        assert await world.letters() == [letter]
        done = await letters_of(world, sink, rich).replay([letter.id])
        assert done.replayed == [ReplayResult(letter, 0, 1)]
        assert rich.taken >= UNITS


async def test_who_replays_a_letter_owes_for_the_samples_that_are_stored(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The processor time of unpacking is owed too, and differs between two runs.
    monkeypatch.setattr("penstock.datastore.access.work.cpu_units", lambda _seconds: 0)
    busy = Unavailable("busy")
    destinations = FailingDestinations(world.context.destinations, fail_table("", busy))
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        (letter,) = await make_letters(world, sink, 1)
        destinations.fails = fail_first(0, busy)
        account = Account()
        done = await letters_of(world, sink, account).replay([letter.id])
        assert done.replayed == [ReplayResult(letter, 2, 0)]
        # Two entities of two attributes each.
        assert account.owed == 2 * (1 + 2) // STORED_SAMPLES
        await letters_of(world, sink, account).replay([letter.id])
        assert account.owed == 2 * (1 + 2) // STORED_SAMPLES


async def test_a_damaged_letter_is_paid_by_no_more_than_its_bytes_can_hold(
    world: SinkWorld,
) -> None:
    async with world.open_sink() as sink:
        letter, account = await make_letter(world, sink), Account()
        files = sink.committer.letter_files.lines.files
        cut = single_chunk(b"\x1f\x8b" + b"\xff" * 98)
        await files.write(letter.file, cut, content_type="application/gzip")
        with pytest.raises(Unavailable):
            await letters_of(world, sink, account).letter_events(letter)
        looks = 2 * FILE_PRICES[StoreKind.EMBEDDED].look
        assert account.taken == notification_units(100 * 1_032) + looks
