"""An instrumented table answers as the plain one, and reports each call without its keys."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from penstock.datastore.dynamodb.retry import retry_reason
from penstock.datastore.table.instrumentation import (
    InstrumentedTable,
    RetryReason,
    note_retry,
    watch_nothing,
)
from penstock.datastore.table.port import (
    Batch,
    ConditionFailed,
    Delete,
    Exists,
    Key,
    Put,
    Query,
    Table,
)
from tests.support.call_recorder import Watcher
from tests.support.stores import open_table

KEY = Key("a", "1")
ITEM = {"pk": "a", "sk": "1"}
CANCELLED = "TransactionCanceledException"


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table("sqlite", tmp_path) as table:
        yield table


async def test_every_call_is_shown_with_its_size_and_units(table: Table) -> None:
    watcher = Watcher()
    seen = InstrumentedTable(table, [watcher])
    assert await seen.write([Put(dict(ITEM))]) == 1.0
    assert await seen.transact([Put({"pk": "a", "sk": "2"})]) == 2.0
    assert (await seen.get([KEY, Key("a", "3")], consistent=True)).items == {KEY: ITEM}
    assert [item["sk"] for item in (await seen.query(Query(partition="a"))).items] == ["1", "2"]
    assert watcher.begun == watcher.ended
    assert [(call.method, call.size, call.units) for call in watcher.ended] == [
        ("write", 1, 1.0),
        ("transact", 1, 2.0),
        ("get", 2, 2.0),
        ("query", 1, 0.5),
    ]
    assert {call.raised for call in watcher.ended} == {None}


async def test_a_failed_call_is_shown_with_what_it_cost_and_raises_as_before(table: Table) -> None:
    watcher = Watcher()
    with pytest.raises(ConditionFailed):
        await InstrumentedTable(table, [watcher]).transact([Delete(KEY, Exists())])
    (call,) = watcher.ended
    assert (call.raised, call.units) == (ConditionFailed, 2.0)


async def test_calls_at_the_same_time_count_their_own_repetitions(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def repeating(keys: list[Key], *, consistent: bool = False) -> Batch:
        for _ in keys:
            await asyncio.sleep(0)
            note_retry(RetryReason.LOST)
        return Batch({}, 0.0)

    monkeypatch.setattr(table, "get", repeating)
    watcher = Watcher()
    seen = InstrumentedTable(table, [watcher])
    await asyncio.gather(seen.get([KEY]), seen.get([KEY] * 3), seen.get([]))
    assert {call.size: len(call.retries) for call in watcher.ended} == {0: 0, 1: 1, 3: 3}


def test_without_a_watched_call_nothing_is_noted() -> None:
    note_retry(RetryReason.LOST)
    watch_nothing("groups", 3)()


def client_error(code: str, *reasons: str) -> ClientError:
    body = {"Error": {"Code": code}, "CancellationReasons": [{"Code": each} for each in reasons]}
    return ClientError(body, "TransactWriteItems")


@pytest.mark.parametrize(
    ("cause", "again"),
    [
        (None, RetryReason.UNPROCESSED),
        (TimeoutError(), RetryReason.LOST),
        (ConnectionResetError(), RetryReason.LOST),
        (client_error("ThrottlingException"), RetryReason.THROTTLED),
        (client_error("ProvisionedThroughputExceededException"), RetryReason.THROTTLED),
        (client_error("RequestLimitExceeded"), RetryReason.THROTTLED),
        (client_error("SlowDown"), RetryReason.THROTTLED),
        (client_error("TransactionInProgressException"), RetryReason.CONFLICT),
        (client_error(CANCELLED, "None", "TransactionConflict"), RetryReason.CONFLICT),
        (client_error(CANCELLED, "ThrottlingError"), RetryReason.THROTTLED),
        (client_error("InternalServerError"), RetryReason.FAILED),
        (client_error("503"), RetryReason.FAILED),
    ],
)
def test_why_a_request_is_sent_again_is_one_of_five_reasons(
    cause: Exception | None, again: RetryReason
) -> None:
    assert retry_reason(cause) is again
