"""`pytest --slow-calls SEED` slows every call of every store, and changes nothing else."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction

import pytest

from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Table
from tests.support import slow_calls


def unwrap_method(method: Callable[..., object]) -> object:
    """Return what the method slows down."""
    return method.__wrapped__  # type: ignore[attr-defined]


def test_every_call_of_a_port_is_slowed_in_each_of_its_implementations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stores: dict[type, tuple[type, ...]] = {
        Table: (SqliteTable, DynamoDBTable),
        Files: (LocalFiles, S3Files),
    }
    before = {
        (store, name): getattr(store, name)
        for port, implementations in stores.items()
        for store in implementations
        for name, method in vars(port).items()
        if iscoroutinefunction(method)
    }
    slow_calls.slow_stores(monkeypatch)
    assert {key: unwrap_method(getattr(*key)) for key in before} == before
    assert {"get", "transact", "stat", "copy"} <= {name for _, name in before}


@pytest.mark.parametrize("fails", [False, True])
async def test_a_call_waits_before_and_after_it_also_where_it_fails(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []

    async def wait() -> None:
        done.append("wait")

    async def call(number: int) -> int:
        done.append("call")
        if fails:
            raise Unavailable("busy")
        return number

    monkeypatch.setattr(slow_calls, "wait_some_time", wait)
    if fails:
        with pytest.raises(Unavailable, match="busy"):
            await slow_calls.slow_call(call)(7)
    else:
        assert await slow_calls.slow_call(call)(7) == 7
    assert done == ["wait", "call", "wait"]


@pytest.mark.own_pace
def test_work_in_a_thread_begins_and_ends_late(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(slow_calls, "sleep_some_time", lambda: done.append("sleep"))
    monkeypatch.setattr(
        ThreadPoolExecutor, "submit", slow_calls.slow_submit(ThreadPoolExecutor.submit)
    )
    with ThreadPoolExecutor(1) as threads:
        threads.submit(done.append, "work").result()
    assert done == ["sleep", "work", "sleep"]
