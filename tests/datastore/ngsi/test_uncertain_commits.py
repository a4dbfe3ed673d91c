"""Commits of segments whose answer is lost, or that are refused, and files that cannot be read."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.manifest.records import Run, RunState
from penstock.datastore.manifest.transitions import Retry
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.options import Ack
from penstock.datastore.ngsi.run_log import RunLog
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.table.port import Operation, Update
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_table
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.datastore.ngsi.test_replay import BUSY, ONCE
from tests.datastore.ngsi.test_sink import SLOW, accept, runs_in_hand
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.table_interceptors import InterceptedTable

LEASE = 60


def received_of(operations: Sequence[Operation]) -> int:
    """Return how many events are received by the operations; 0 if they only settle some."""
    return sum(_changes_of("received", operations))


def is_settlement(operations: Sequence[Operation]) -> bool:
    return not received_of(operations) and sum(_changes_of("pending", operations)) < 0


def _changes_of(count: str, operations: Sequence[Operation]) -> list[int]:
    return [
        int(each.add.get(count, 0))
        for each in operations
        if isinstance(each, Update) and each.key.pk.startswith("NC:")
    ]


class ForgetfulTable(InterceptedTable):
    """Gets the next commit, or settlement, twice: its answer is lost, and its token forgotten."""

    commits_twice = False
    settles_twice = False

    async def transact(self, operations: Sequence[Operation]) -> float:
        if (self.commits_twice and received_of(operations)) or (
            self.settles_twice and is_settlement(operations)
        ):
            self.commits_twice = self.settles_twice = False
            await self._table.transact(operations)
        return await self._table.transact(operations)


class RefusingTable(InterceptedTable):
    """Refuses commits while it is full, without an effect."""

    is_full = False

    async def transact(self, operations: Sequence[Operation]) -> float:
        if self.is_full and received_of(operations) > 0:
            raise Unavailable("The table has no capacity left.")
        return await self._table.transact(operations)


@on_sqlite
@pytest.mark.parametrize("headers", [{}, {"correlator": "c"}], ids=["plain", "with a correlator"])
async def test_a_commit_that_is_repeated_counts_once(
    world: SinkWorld, headers: dict[str, str]
) -> None:
    table = ForgetfulTable(world.context.table)
    async with world.open_sink(table=table) as sink:
        for name in ("car1", "car2"):
            await accept(sink, name)
            await world.wait_until_settled()
        table.commits_twice = True
        assert await accept(sink, "car3", **headers) == IntakeResult(1)
        counts = await world.wait_until_settled()
    assert counts == IngestCounts(received=3, persisted=3, items=6)
    assert not table.commits_twice
    assert await faults(world.context.table) == []


@on_sqlite
async def test_a_settlement_with_a_dead_letter_that_is_repeated_counts_once(
    world: SinkWorld,
) -> None:
    table = ForgetfulTable(world.context.table)
    destinations = FailingDestinations(world.context.destinations)
    async with world.open_sink(ONCE, table=table, destinations=destinations) as sink:
        for name in ("car1", "car2"):
            await accept(sink, name)
            await world.wait_until_settled()
        destinations.fails = fail_table("car3", BUSY)
        table.settles_twice = True
        await accept(sink, "car3")
        await world.wait_until_settled()
        await sink.loader.drain()
        assert await runs_in_hand(sink) == []
    counts = await world.counts()
    assert counts == IngestCounts(received=3, persisted=2, dead_lettered=1, items=4)
    assert [letter.events for letter in await world.letters()] == [1]
    assert not table.settles_twice


@on_sqlite
async def test_commits_that_are_refused_leave_one_run_behind_at_most(world: SinkWorld) -> None:
    table = RefusingTable(world.context.table)
    async with world.open_sink(table=table) as sink:
        for _ in range(3):
            await accept(sink, "car1")
            await world.wait_until_settled()
        before = await runs_in_hand(sink)
        table.is_full = True
        for _ in range(20):
            with pytest.raises(Unavailable):
                await accept(sink, "car1", correlator="same")
        assert len(await runs_in_hand(sink)) <= len(before) + 1
        table.is_full = False
        for _ in range(3):
            await accept(sink, "car1")
        counts = await world.wait_until_settled()
    assert counts == IngestCounts(received=6, persisted=6, items=12)


@on_sqlite
@pytest.mark.parametrize(
    "damage", ["none", "a stray object", "a damaged segment", "an empty segment"]
)
async def test_what_lies_in_the_folder_of_one_run_keeps_no_other_from_being_taken_over(
    world: SinkWorld, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    watch = Watch()
    shared: dict[str, Any] = {"clock": Clock(watch), "lease_seconds": LEASE, "shards": 1}
    for server in range(2):
        async with world.open_sink(SLOW, drain=0.0, **shared) as sink:
            for car in range(2):
                await accept(sink, f"car{server}{car}")
        watch.move(timedelta(seconds=1))
    oldest, *_ = sorted(await runs_in_hand(sink), key=lambda run: run.added_at)
    files, stored = world.context.files, b""
    if damage == "a stray object":
        name = f"{oldest.run_id}README"
        await files.write(name, single_chunk(b"x"), content_type="text/plain")
    elif damage != "none":
        (name,) = await files.list(oldest.run_id)
        stored = b"".join([chunk async for chunk in files.read(name)])
        content = b"x" if damage == "a damaged segment" else b""
        await files.write(name, single_chunk(content), content_type="application/gzip")
    watch.move(timedelta(seconds=LEASE + 1))
    is_damaged = damage.endswith("segment")
    with caplog.at_level(logging.ERROR, "penstock.ngsi"):
        async with world.open_sink(QUICK, **shared) as sink:
            # It takes them over by itself at once; in whose hand one is, nobody else waits for it.
            async def is_stored() -> bool:
                left = [run.state for run in await runs_in_hand(sink)]
                return left == [RunState.FAILED] * is_damaged

            await until(is_stored)
            assert (await world.counts()).pending == (1 if is_damaged else 0)
            if is_damaged:
                await files.write(name, single_chunk(stored), content_type="application/gzip")
                runs = sink.committer.run_log.runs
                await runs.change(oldest.name, Retry(reason="the file is whole again"))
                await sink.take_over_runs()
                await world.wait_until_settled()
                assert await sink.take_over_runs() == 0
    assert await world.counts() == IngestCounts(received=4, persisted=4, items=8)


@on_sqlite
async def test_a_server_does_not_take_over_a_run_that_it_has_itself(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world.open_sink(SLOW, drain=0.0) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        (shared,) = sink.committer.segments.runs.values()

        async def claim(_log: RunLog) -> list[Run]:
            return [shared.run]

        monkeypatch.setattr(RunLog, "claim_abandoned", claim)
        await sink.take_over_runs()
        assert list(sink.committer.segments.runs.values()) == [shared]
        assert (shared.open, shared.sealed, len(sink.loader.open_runs)) == (1, False, 2)


class LossyTable(InterceptedTable):
    """Loses the answers of commits: of those that took effect, or of those that did not."""

    loses: str | None = None

    async def transact(self, operations: Sequence[Operation]) -> float:
        loses = self.loses if received_of(operations) > 0 else None
        if loses is not None:
            self.loses = None
        if loses == "a request":
            raise Unavailable("The request was lost.")
        units = await self._table.transact(operations)
        if loses == "an answer":
            raise Unavailable("The answer was lost.")
        return units


@on_sqlite
@pytest.mark.parametrize("lost", ["a request", "an answer"])
@pytest.mark.parametrize("alone", [False, True], ids=["shared run", "run of its own"])
@pytest.mark.parametrize("headers", [{}, {"correlator": "c"}], ids=["plain", "with a correlator"])
async def test_a_queued_notification_is_counted_once_whatever_becomes_of_its_commit(
    world: SinkWorld,
    lost: str,
    alone: bool,
    headers: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.datastore.ngsi.inbox.RETRY_DELAY_SECONDS", 0.0)
    watch, table = Watch(), LossyTable(world.context.table)
    shared: dict[str, Any] = {"clock": Clock(watch), "lease_seconds": LEASE, "shards": 1}
    queued = replace(QUICK, ack=Ack.QUEUED)
    async with world.open_sink(queued, table=table, **shared) as sink:
        for car in ("car0", "car1"):
            await accept(sink, car)
            await sink.inbox.wait_until_empty()
            await world.wait_until_settled()
        if alone:
            watch.move(timedelta(seconds=LEASE + 1))
        table.loses = lost
        await accept(sink, "car2", **headers)
        await sink.inbox.wait_until_empty()
        assert not table.loses
    watch.move(timedelta(seconds=LEASE + 1))
    async with world.open_sink(QUICK, **shared) as sink:
        await sink.take_over_runs()
        counts = await world.wait_until_settled()
        await sink.loader.drain()
    assert counts == IngestCounts(received=3, persisted=3, items=6)
    assert len(await world.read_samples()) == 6
