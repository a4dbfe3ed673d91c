"""A preview reads each notification once, off the event loop, and it is paid by its size."""

import json
import threading
from collections import Counter
from typing import Any

import pytest

from penstock.datastore.access.work import FREE_WORK, NOTIFIED_BYTES, WorkAccount
from penstock.datastore.ngsi.notification import (
    Notification,
    NotificationHeaders,
    read_notification,
)
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.resolvers.context import Context
from penstock.schema import schema
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.interpreter import Interpreter
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from tests.datastore.ngsi.sample_sinks import car
from tests.datastore.ngsi.stored_samples import store_samples
from tests.support.consistency_check import contents
from tests.support.graphql_client import CURSORS, ROOT
from tests.support.work_account import Account

ALIASES = 28
BODY = json.dumps({"subscriptionId": "s", "data": [car(f"car{n}") for n in range(100)]})
UNITS = len(BODY) // NOTIFIED_BYTES
INTERPRETED = GraphQLEngine(schema, executor=Interpreter(schema, Limits()))
"""An engine that makes no plan, for which a caller would pay too."""


class Reading:
    """Counts the readings of notifications by path, and the threads that do them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: Counter[str] = Counter()
        self.threads: set[int] = set()
        name = "penstock.datastore.ngsi.repository.read_notification"
        monkeypatch.setattr(name, self.count)

    def count(self, heading: NotificationHeaders, body: bytes) -> Notification:
        self.paths.update(heading.paths)
        self.threads.add(threading.get_ident())
        return read_notification(heading, body)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


async def preview(store: Store, *paths: str, account: WorkAccount = FREE_WORK) -> dict[str, Any]:
    """Ask for a preview of the body with each path; return the data and the errors."""
    fields = " ".join(
        f'x{n}: previewDestination(notification: $body, servicePath: "{path}") {{ table path }}'
        for n, path in enumerate(paths)
    )
    document = f'query($body: String!) {{ ngsiService(name: "vehicles") {{ {fields} }} }}'
    context = Context.open(store, ROOT, CURSORS, RowChanges(store.table), account)
    prepared = INTERPRETED.prepare(OperationRequest(query=document, variables={"body": BODY}))
    return (await INTERPRETED.run(prepared, context, "a test")).body


async def test_a_notification_is_read_once_however_often_it_is_asked_for(
    store: Store, reading: Reading
) -> None:
    await store_samples(store)
    account = Account()
    answer = await preview(store, *["/4wheels"] * ALIASES, account=account)
    shown = list(answer["data"]["ngsiService"].values())
    assert [len(each) for each in shown] == [100] * ALIASES
    assert reading.paths == {"/4wheels": 1}
    assert (account.taken, account.owed) == (UNITS, 0)


async def test_each_notification_is_paid_and_read_off_the_event_loop(
    store: Store, reading: Reading
) -> None:
    await store_samples(store)
    account, paths = Account(), [f"/p{n}" for n in range(ALIASES)]
    assert "errors" not in await preview(store, *paths, account=account)
    assert reading.paths == dict.fromkeys(paths, 1)
    assert len(reading.threads) == 1
    assert threading.get_ident() not in reading.threads
    assert account.taken == UNITS * ALIASES


async def test_nothing_is_read_that_the_caller_cannot_pay(store: Store, reading: Reading) -> None:
    await store_samples(store)
    before = await contents(store.table)
    account = Account(2 * UNITS)
    answer = await preview(store, *(f"/p{n}" for n in range(ALIASES)), account=account)
    assert {error["extensions"]["code"] for error in answer["errors"]} == {"RATE_LIMITED"}
    assert sum(each is not None for each in answer["data"]["ngsiService"].values()) == 2
    assert reading.paths.total() == 2
    assert account.taken == 2 * UNITS
    assert await contents(store.table) == before
