"""Reads for charts: long pages, chosen points and wide periods, with what each of them costs."""

from typing import Any

import pytest

from penstock.datastore.access.work import READ_SAMPLES, WorkAccount
from penstock.datastore.ngsi.hours import reader
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.table.instrumentation import Units
from penstock.resolvers.context import Context
from penstock.schema.engine.operations import OperationRequest
from tests.datastore.ngsi.stored_samples import store_samples
from tests.schema.ngsi.test_ngsi import ATTRIBUTE, attribute
from tests.support.graphql_client import CURSORS, ROOT, Ask, as_caller, engine
from tests.support.work_account import Account

LATEST_OF_CARS = """{ ngsiService(name: "vehicles") { servicePath(path: "/4wheels") {
  entities(type: "car", first: 100) { nodes { entityId %s } } } } }"""
POINTS = "points(limit: %d%s) { times values texts endCursor }"


async def refusal(ask: Ask, shown: str) -> Any:
    (error,) = (await ask(ATTRIBUTE % shown)).errors
    return error["extensions"]["code"]


@pytest.mark.parametrize("size", [1, 3, 7, 10_000])
async def test_points_are_read_page_by_page(ask: Ask, size: int) -> None:
    await store_samples(ask.store, samples=7)
    times: list[str] = []
    values: list[str] = []
    after = ""
    while True:
        page = (await attribute(ask, POINTS % (size, after)))["points"]
        assert len(page["times"]) == len(page["values"]) == len(page["texts"]) <= size
        times += page["times"]
        values += page["values"]
        if page["endCursor"] is None:
            break
        after = f', after: "{page["endCursor"]}"'
    assert values == ["0", "1", "2", "3", "4", "5", "6"]
    assert times == sorted(set(times))
    assert times[0] == "2015-04-20T13:16:15.005Z"


async def test_a_span_has_its_own_points_and_cursors(ask: Ask) -> None:
    await store_samples(ask.store, samples=7)
    span = ', from: "2015-04-20T13:16:17Z", to: "2015-04-20T13:16:20Z"'
    page = (await attribute(ask, POINTS % (2, span)))["points"]
    assert page["values"] == ["2", "3"]
    assert await refusal(ask, POINTS % (2, f', after: "{page["endCursor"]}"')) == "BAD_USER_INPUT"
    on = (await attribute(ask, POINTS % (2, f'{span}, after: "{page["endCursor"]}"')))["points"]
    assert (on["values"], on["endCursor"]) == (["4"], None)


@pytest.mark.parametrize(
    "shown",
    [
        "points(limit: 0) { times }",
        "points(limit: 10001) { times }",
        'points(after: "forged") { times }',
        "downsample(points: 2) { times }",
        "downsample(points: 10001) { times }",
        "buckets(method: AVG, widthSeconds: 0) { value }",
        "buckets(method: AVG, widthSeconds: 31622401) { value }",
        "aggregate(method: PERCENTILE, period: DAY, percentile: 101) { value }",
        "aggregate(method: PERCENTILE, period: DAY, percentile: -1) { value }",
    ],
)
async def test_arguments_of_charts_have_bounds(ask: Ask, shown: str) -> None:
    await store_samples(ask.store)
    assert await refusal(ask, shown) == "BAD_USER_INPUT"


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("", ["0", "9", "0", "0"]),
        (", method: MIN", ["0", "0", "0"]),
        (", method: MAX", ["0", "9", "0"]),
        (", method: AVG", ["0", "4.5", "0"]),
    ],
)
async def test_a_series_is_downsampled(ask: Ask, method: str, values: list[str]) -> None:
    await store_samples(ask.store, values=[0, 0, 9, 0, 0, 0])
    points = 4 if not method else 3
    found = await attribute(ask, f"downsample(points: {points}{method}) {{ times values }}")
    assert [value.rstrip(".") for value in found["downsample"]["values"]] == values
    assert len(found["downsample"]["times"]) == len(values)


async def test_a_series_is_aggregated_by_any_width_and_percentile(ask: Ask) -> None:
    await store_samples(ask.store, samples=6)
    shown = "buckets(method: %s, widthSeconds: 3%s) { start samples value }"
    first = (await attribute(ask, shown % ("FIRST", "")))["buckets"]
    assert [(each["start"][17:19], each["samples"], each["value"]) for each in first] == [
        ("15", 3, "0"),
        ("18", 3, "3"),
    ]
    for method, more, expected in (
        ("LAST", "", ["2", "5"]),
        ("PERCENTILE", "", ["1", "4"]),
        ("PERCENTILE", ", percentile: 75", ["1.5", "4.5"]),
        ("COUNT", "", ["3", "3"]),
    ):
        found = (await attribute(ask, shown % (method, more)))["buckets"]
        assert [float(each["value"]) for each in found] == [float(value) for value in expected]


async def test_a_span_with_too_many_samples_is_refused(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store_samples(ask.store, samples=4)
    monkeypatch.setattr(charts, "MAX_SAMPLES", 3)
    monkeypatch.setattr(reader, "FIRST_PAGE", 1)
    for shown in (
        "downsample(points: 3) { times }",
        "aggregate(method: AVG, period: DAY) { value }",
    ):
        assert await refusal(ask, shown) == "LIMIT_EXCEEDED"
    span = 'to: "2015-04-20T13:16:18Z"'
    assert await attribute(ask, f"downsample(points: 3, {span}) {{ times }}")


async def read_units(ask: Ask, shown: str, account: WorkAccount) -> Units:
    context = Context.open(ask.store, ROOT, CURSORS, RowChanges(ask.store.table), account)
    prepared = engine().prepare(OperationRequest(query=ATTRIBUTE % shown))
    body = (await engine().run(prepared, context, "a test")).body
    assert "errors" not in body, body
    return context.units


@pytest.mark.parametrize(
    ("shown", "calls"),
    [
        ("points(limit: 10000) { values }", 3),
        ("downsample(points: 10) { values }", 4),
        ("buckets(method: AVG, widthSeconds: 900) { value }", 10),
    ],
)
async def test_a_chart_is_paid_by_the_samples_that_it_reads(
    ask: Ask, shown: str, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store_samples(ask.store, samples=300)
    monkeypatch.setattr(charts, "WHOLE_PAGE", 100)
    account = Account()
    units = await read_units(ask, shown, account)
    assert account.owed >= 300 // READ_SAMPLES - 3
    # Three for the service, the path and the entity, one for the attribute, and a query a page. A
    # chart also asks for what is kept; and what is kept of hours takes seven calls to keep first.
    assert units.calls == 4 + calls


@pytest.mark.parametrize(
    ("entities", "shown", "calls", "units"),
    [
        (50, ("speed",), 1 + 1 + 1, 50 + 25 + 25),
        (50, ("speed", "oil_level"), 1 + 1 + 1, 100 + 25 + 50),
        (100, ("speed",), 1 + 1 + 1, 100 + 50 + 50),
        (100, ("speed", "oil_level"), 2 + 1 + 2, 200 + 50 + 100),
    ],
)
async def test_the_latest_samples_of_many_entities_are_read_in_a_few_calls(
    ask: Ask, entities: int, shown: tuple[str, ...], calls: int, units: float
) -> None:
    await store_samples(ask.store, entities=[f"car{n:03}" for n in range(entities)], samples=2)
    fields = (f'{name}: attribute(name: "{name}") {{ latest {{ text }} }}' for name in shown)
    answer = await ask(LATEST_OF_CARS % " ".join(fields))
    nodes = answer.value["servicePath"]["entities"]["nodes"]
    texts = {"speed": "1", "oil_level": "-1"}
    latest = {name: {"latest": {"text": texts[name]}} for name in shown}
    assert nodes == [{"entityId": f"car{n:03}", **latest} for n in range(entities)]
    # Three for the service, the path and the entities; then attributes by a hundred, the rows of
    # their entities, and samples by a hundred.
    assert (answer.units.calls, answer.units.rcu) == (3 + calls, 2.5 + units)


async def test_a_stranger_reads_no_chart(ask: Ask) -> None:
    await store_samples(ask.store)
    for shown in (POINTS % (10, ""), "downsample(points: 3) { times }"):
        answer = await ask(ATTRIBUTE % shown, caller=as_caller("eve", "/eu=admin"))
        assert answer.code == "NOT_FOUND"
