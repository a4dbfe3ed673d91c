"""NGSI through GraphQL: the fields, the rejected arguments, and the events of followers."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.work import CODED_CHARACTERS
from penstock.datastore.ngsi.options import NamingOptions
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.resolvers.context import Context
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from tests.datastore.ngsi.sample_sinks import car, notification, open_world
from tests.datastore.ngsi.stored_samples import store_samples
from tests.support.graphql_client import CURSORS, ROOT, Ask, as_caller, engine
from tests.support.patience import HUNG_SECONDS
from tests.support.work_account import Account

STRANGER = as_caller("eve", "/eu=admin")
ATTRIBUTE = """{ ngsiService(name: "vehicles") { servicePath(path: "/4wheels") {
  entity(id: "car1", type: "car") { attribute(name: "speed") { %s } } } } }"""
SERVICE = '{ ngsiService(name: "vehicles") { %s } }'
SAMPLES = """subscription($path: String!, $attribute: String!) { ngsiSamples(service: "vehicles",
  servicePath: $path, entityId: "car1", entityType: "car", attribute: $attribute) { text } }"""


async def attribute(ask: Ask, shown: str) -> Any:
    answer = await ask(ATTRIBUTE % shown)
    found = answer.value
    for name in ("servicePath", "entity", "attribute"):
        found = found[name]
    return found


async def preview(ask: Ask, body: Any, **arguments: str) -> list[Any]:
    more = "".join(f", {name}: {json.dumps(value)}" for name, value in arguments.items())
    text = json.dumps(body if isinstance(body, str) else json.dumps(body))
    shown = f"previewDestination(notification: {text}{more}) {{ entityId path table problem }}"
    previews: list[Any] = (await ask(SERVICE % shown)).value["previewDestination"]
    return previews


@pytest.mark.parametrize(
    ("method", "value"), [("COUNT", "3"), ("SUM", "3"), ("AVG", "1"), ("MIN", "0"), ("MAX", "2")]
)
async def test_a_series_is_aggregated_by_period(ask: Ask, method: str, value: str) -> None:
    await store_samples(ask.store, samples=3)
    times = 'from: "2015-04-20T13:00:00Z", to: "2015-04-20T13:16:18Z"'
    shown = f"aggregate(method: {method}, period: MINUTE, {times}) {{ start samples value }}"
    assert (await attribute(ask, shown))["aggregate"] == [
        {"start": "2015-04-20T13:16:00.000Z", "samples": 3, "value": value}
    ]
    shown = f"aggregate(method: {method}, period: SECOND, fill: true) {{ value }}"
    assert len((await attribute(ask, shown))["aggregate"]) == 3


async def test_the_last_samples_are_had_oldest_first(ask: Ask) -> None:
    await store_samples(ask.store, samples=5)
    found = await attribute(ask, "series(last: 2) { nodes { text } }")
    assert found["series"]["nodes"] == [{"text": "3"}, {"text": "4"}]


async def test_what_is_not_there_is_null(ask: Ask) -> None:
    await store_samples(ask.store)
    path = 'servicePath(path: "/4wheels") { entity(id: "car9", type: "car") { entityId } }'
    assert (await ask(SERVICE % path)).value == {"servicePath": {"entity": None}}
    other = 'servicePath(path: "/9wheels") { path }'
    (error,) = (await ask(SERVICE % other)).errors
    assert error["extensions"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "shown",
    [
        'servicePath(path: "4wheels") { path }',
        'servicePath(path: "/../zoo") { path }',
        'servicePath(path: "/4wheels/.") { path }',
        'previewDestination(notification: "{}", servicePath: "/../zoo") { table }',
        f'encodeName(text: "{"x" * 2001}")',
        'encodeName(text: "\\uffff", encoding: STRICT)',
        'decodeName(name: "a b")',
        'decodeName(name: "xffffxd800xzzzz")',
        'previewDestination(notification: "{") { table }',
        'previewDestination(notification: "{}", servicePath: "a") { table }',
        'previewDestination(notification: "{}", attrsFormat: "values") { table }',
    ],
)
async def test_arguments_that_cannot_mean_anything_are_refused(ask: Ask, shown: str) -> None:
    await store_samples(ask.store)
    (error,) = (await ask(SERVICE % shown)).errors
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_preview_of_ngsi_ld_names_its_entities(ask: Ask) -> None:
    await store_samples(ask.store)
    body = json.dumps({"type": "Notification", "data": [{"id": "urn:e", "n": {"object": "urn:x"}}]})
    shown = f"previewDestination(notification: {json.dumps(body)}) {{ entityId problem }}"
    (found,) = (await ask(SERVICE % shown)).value["previewDestination"]
    assert found == {"entityId": "urn:e", "problem": None}


async def test_names_are_encoded_and_decoded_by_either_rule(ask: Ask) -> None:
    await store_samples(ask.store)
    name = "vehiclesxffffx002f4wheelsxffffcar1xffffcar"
    shown = (
        'a: encodeName(text: "box/") b: encodeName(text: "box/", encoding: STRICT) '
        f'c: decodeName(name: "{name}")'
    )
    assert (await ask(SERVICE % shown)).value == {
        "a": "boxx002f",
        "b": "box0078x002f",
        "c": ["vehicles", "/4wheels", "car1", "car"],
    }


async def ask_for_names(store: Store, shown: str, account: Account) -> Any:
    """Ask for names at the cost of an account; return the body of the answer."""
    context = Context.open(store, ROOT, CURSORS, RowChanges(store.table), account)
    prepared = engine().prepare(OperationRequest(query=SERVICE % shown))
    return (await engine().run(prepared, context, "a test")).body


async def test_names_are_paid_by_their_characters(store: Store) -> None:
    await store_samples(store)
    taken = []
    for length in (1, 500):
        account = Account()
        shown = f'a: encodeName(text: "{"é" * length}") b: decodeName(name: "{"y" * length}")'
        await ask_for_names(store, shown, account)
        taken.append(account.taken)
    assert taken[1] - taken[0] == 2 * (500 // CODED_CHARACTERS)


async def test_a_caller_in_debt_has_no_names_encoded(store: Store) -> None:
    await store_samples(store)
    body = await ask_for_names(store, f'encodeName(text: "{"é" * 1_000}")', Account(most=30))
    assert body["data"] == {"ngsiService": {"encodeName": None}}
    assert [error["extensions"]["code"] for error in body["errors"]] == ["RATE_LIMITED"]


async def test_a_preview_says_where_entities_would_be_stored_and_stores_nothing(ask: Ask) -> None:
    await store_samples(ask.store)
    counts = SERVICE % "counts { received }"
    before = (await ask(counts)).value
    assert await preview(ask, {"data": [car("car2"), {}]}, servicePath="/a, /b") == [
        {
            "entityId": "car2",
            "path": "/a",
            "table": "vehiclesxffffx002faxffffcar2xffffcar",
            "problem": None,
        },
        {
            "entityId": None,
            "path": "/b",
            "table": None,
            "problem": "The entity's id is missing or not a text.",
        },
    ]
    assert (await ask(counts)).value == before


async def test_the_numbers_of_a_search_are_in_its_cost(ask: Ask) -> None:
    await store_samples(ask.store)
    few = await ask(ATTRIBUTE % "name")
    more = await ask(ATTRIBUTE % "latest { text }")
    assert more.units.calls == few.units.calls + 1
    assert more.units.rcu > few.units.rcu


async def refusal(store: Store, caller: Any, **variables: str) -> Any:
    given = {"path": "/4wheels", "attribute": "speed", **variables}
    prepared = engine().prepare(OperationRequest(query=SAMPLES, variables=given))
    context = Context.open(store, caller, CURSORS, RowChanges(store.table))
    with pytest.raises(RequestRejected) as refused:
        async with aclosing(engine().events(prepared, context, "a test")) as events:
            await anext(events)
    (error,) = refused.value.errors
    return error


async def test_a_stranger_cannot_follow_and_cannot_tell_why(store: Store) -> None:
    await store_samples(store)
    theirs = await refusal(store, STRANGER)
    assert theirs["extensions"]["code"] == "NOT_FOUND"
    absent = await refusal(store, STRANGER, path="/9wheels")
    assert absent["message"].replace("/9wheels", "/4wheels") == theirs["message"]
    nothing = await refusal(store, ROOT, attribute="none")
    assert nothing["extensions"] == {"code": "NOT_FOUND", "path": ["attribute"]}


async def test_a_follower_hears_the_latest_and_then_each_sample(
    store: Store, tmp_path: Path
) -> None:
    async with (
        open_world(store.table, store.ngsi_access.destinations, tmp_path) as world,
        world.open_sink() as sink,
    ):
        await sink.accept_notification(notification(car("car1", speed=0)), 10)
        await world.wait_until_settled()
        seen = world.store_beside(sink)
        given = {"path": "/4wheels", "attribute": "speed"}
        prepared = engine().prepare(OperationRequest(query=SAMPLES, variables=given))
        context = Context.open(seen, ROOT, CURSORS, RowChanges(seen.table))
        told = []
        async with aclosing(engine().events(prepared, context, "a test")) as events:
            async for event in events:
                answer = await engine().run_event(prepared, event, context, "a test")
                told.append(answer.body["data"]["ngsiSamples"]["text"])
                if len(told) == 3:
                    break
                async with asyncio.timeout(HUNG_SECONDS):
                    await sink.accept_notification(notification(car("car1", speed=len(told))), 10)
                    await world.wait_until_settled()
    assert told == ["0", "1", "2"]


async def test_names_are_those_of_the_settings(ask: Ask) -> None:
    await store_samples(ask.store)
    assert ask.store.ngsi_access.options.naming == NamingOptions()
    (found,) = await preview(ask, {"id": "x", "type": "y"}, servicePath="/")
    assert found["table"] == "vehiclesxffffx002fxffffxxffffy"
