"""`/metrics`: the counts, under labels that no client can choose."""

import asyncio
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.applications import Starlette

from penstock.datastore import errors
from penstock.datastore.errors import ErrorCode, RequestRefused
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.jobs.jobs import JobKind
from penstock.datastore.manifest import records as runs
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import RetryReason, StoreCall
from penstock.datastore.table.port import ConditionFailed
from penstock.datastore.work_reports import LostClaim
from penstock.graphql_jit import FallbackReason
from penstock.server.connections.gate import ConnectionGate, EndReason, Gates, Stage, time_limits
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.gathered_metrics import ProcessMetrics, encode_metrics
from penstock.server.telemetry.metrics import Metrics
from penstock.server.telemetry.operation import OperationRecord, Transport
from tests.faults.dynamodb_proxy import Fault
from tests.support.application import CREATE, FIND, SECRET, open_application, open_faulty_table

CODES = {*(code.value for code in ErrorCode), "OK", "ABORTED"}
LABELS: dict[str, set[str]] = {
    "type": {"query", "mutation", "subscription", "unknown"},
    "transport": {"http", "sse", "websocket"},
    "code": CODES,
    "method": {"get", "query", "transact", "write"},
    "outcome": {
        *("ok", "condition_failed", "limit_exceeded", "refused", "unavailable", "failed"),
        "succeeded",
    },
    "reason": {
        *(again.value for again in RetryReason),
        *(reason.value for reason in FallbackReason),
        *(reason.value for reason in EndReason),
        *(reason.value for reason in LostClaim),
    },
    "loader": {"pipelines", "groups", "jobs", "pipeline_versions", "pipeline_version_pages"},
    "cache": {"documents", "persisted"},
    "version": {version("penstock")},
    "store": {"sqlite"},
    "state": {
        *("waiting", "running", "succeeded", "failed", "cancelled", "done"),
        *("received", "persisted", "duplicate", "dead"),
    },
    "mode": {*ExecutionMode},
    "stage": {*runs.Stage},
    "kind": {*JobKind},
    "direction": {"read", "written"},
}
"""Every label of ours with all its values, without buckets and the interpreter's name."""


def samples(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the non-zero samples of a name by the values of their labels."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name and sample.value
    }


def make_record(transport: Transport = "http", **more: Any) -> OperationRecord:
    return OperationRecord(request_id="r", transport=transport, **more)


async def test_what_was_asked_is_counted(store: Store, tmp_path: Path) -> None:
    async with open_application(store, tmp_path) as app:
        for path in ("/usa", f"/{SECRET}", f"/{SECRET}"):
            assert (await app.ask(CREATE, {"path": path})).status_code == 200
        assert "data" in (await app.ask(FIND)).json()
        await app.ask("{ nothing }")
        await app.client.post("/graphql", headers={"authorization": "Bearer no"})
        found = await app.metrics()
    operations = 'penstock_operations_total{code="%s",transport="http",type="%s"}'
    assert found[operations % ("OK", "mutation")] == 3
    assert found[operations % ("GRAPHQL_VALIDATION_FAILED", "unknown")] == 1
    assert found[operations % ("UNAUTHENTICATED", "unknown")] == 1
    assert found['penstock_operation_seconds_count{type="mutation"}'] == 3
    assert found['penstock_operation_cost_count{type="query"}'] == 1
    assert found['penstock_loader_batch_size_count{loader="groups"}'] == 1
    assert found['penstock_loader_batch_size_sum{loader="groups"}'] == 3
    assert found['penstock_store_calls_total{method="transact",outcome="ok"}'] == 2
    assert found['penstock_store_units_total{method="transact"}'] > 2
    assert found['penstock_store_call_seconds_count{method="transact"}'] >= 2
    assert found['penstock_cache_entries{cache="documents"}'] == 3
    assert found["process_resident_memory_bytes"] > 1_000_000


async def test_no_label_holds_what_a_client_chose(store: Store, tmp_path: Path) -> None:
    async with open_application(store, tmp_path) as app:
        await app.ask(CREATE, {"path": f"/{SECRET}"}, headers={"x-request-id": SECRET})
        await app.ask(FIND)
        await app.ask(f"query {SECRET.replace('-', '_')} {{ viewer {{ __typename }} }}")
        text = (await app.client.get("/metrics")).text
    assert re.search(r"s3cr3t|ann|Find|Add", text) is None
    for family in text_string_to_metric_families(text):
        if not family.name.startswith("penstock_"):
            continue
        for sample in family.samples:
            for label, value in sample.labels.items():
                assert label == "le" or value in LABELS[label], (sample.name, label, value)


async def test_two_applications_count_apart(store: Store, tmp_path: Path) -> None:
    name = 'penstock_operations_total{code="OK",transport="http",type="query"}'
    async with open_application(store, tmp_path) as one, open_application(store, tmp_path) as other:
        await one.ask("{ viewer { __typename } }")
        assert (await one.metrics())[name] == 1
        assert name not in await other.metrics()


async def test_metrics_can_be_off(store: Store, tmp_path: Path) -> None:
    async with open_application(store, tmp_path, metrics=False) as app:
        assert (await app.client.get("/metrics")).status_code == 404
        assert (await app.ask("{ viewer { __typename } }")).status_code == 200


async def test_metrics_come_in_open_metrics_where_that_is_asked_for(
    store: Store, tmp_path: Path
) -> None:
    async with open_application(store, tmp_path) as app:
        wanted = {"accept": "application/openmetrics-text; version=1.0.0"}
        answer = await app.client.get("/metrics", headers=wanted)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.text.endswith("# EOF\n")


ACCEPTS = (
    "",
    "text/plain",
    "application/openmetrics-text",
    "application/openmetrics-text; version=1.0.0; escaping=dots",
    *(f"application/openmetrics-text; version=1.{number}" for number in range(20)),
    "application/openmetrics-text; version=a",
)


async def test_a_flood_of_scrapes_costs_one_text_of_each_form() -> None:
    metrics, rendered = Metrics(), []

    class CountedCollector(Collector):
        def collect(self) -> Iterator[Metric]:
            rendered.append(1)
            yield from ()

    metrics.registry.register(CountedCollector())
    rendered.clear()
    transport = ASGITransport(Starlette(routes=[metrics.route()]))
    async with AsyncClient(transport=transport, base_url="http://localhost") as client:
        asked = [client.get("/metrics", headers={"accept": each}) for each in ACCEPTS]
        found = await asyncio.gather(*asked)
    assert {each.status_code for each in found} == {200}
    assert len({each.content for each in found}) == len(rendered) == 2


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("10.0.0.7:8000", 200),
        ("10.0.0.7", 200),
        ("[fd00::7]:8000", 200),
        ("api.example.org", 200),
        ("evil.example.com", 400),
        ("10.0.0.7.evil.example.com", 400),
        ("", 400),
        ("[", 400),
    ],
)
async def test_a_scraper_may_use_any_address_but_no_unknown_name(
    host: str, status: int, store: Store, tmp_path: Path
) -> None:
    async with open_application(store, tmp_path, allowed_hosts=("api.example.org",)) as app:
        answer = await app.client.get("/metrics", headers={"host": host})
    assert answer.status_code == status
    assert ("penstock_" in answer.text) == (status == 200)


async def test_what_the_store_refused_is_counted_by_reason(tmp_path: Path) -> None:
    async with (
        open_faulty_table() as (proxy, table),
        open_application(Store(table), tmp_path) as app,
    ):
        proxy.script("TransactWriteItems", Fault.THROTTLED, Fault.CONFLICT, Fault.INTERNAL)
        proxy.script("TransactWriteItems", Fault.RESET_BEFORE)
        await app.ask(CREATE, {"path": "/usa"})
        proxy.script("BatchGetItem", Fault.UNPROCESSED)
        await app.ask(FIND)
        found = await app.metrics()
    again = {
        name.removeprefix('penstock_store_retries_total{reason="').removesuffix('"}'): value
        for name, value in found.items()
        if name.startswith("penstock_store_retries_total")
    }
    assert again == {"throttled": 1, "conflict": 1, "failed": 1, "lost": 1, "unprocessed": 1}
    transactions = sum(
        value for name, value in found.items() if "calls_total" in name and "transact" in name
    )
    assert found["penstock_store_turn_seconds_count"] == transactions > 0
    assert found["penstock_store_merged_total"] == 0


@pytest.mark.parametrize(
    ("raised", "outcome"),
    [
        (None, "ok"),
        (ConditionFailed, "condition_failed"),
        (errors.LimitExceeded, "limit_exceeded"),
        (errors.Unavailable, "unavailable"),
        (RequestRefused, "refused"),
        (ValueError, "failed"),
    ],
)
def test_a_call_is_counted_by_how_it_ended(
    raised: type[BaseException] | None, outcome: str
) -> None:
    metrics = Metrics()
    call = StoreCall("transact", 2)
    ended = metrics.call(call)
    assert samples(metrics, "penstock_store_calls_total") == {}
    call.raised = raised
    call.units = 4.5
    ended()
    assert samples(metrics, "penstock_store_calls_total") == {("transact", outcome): 1}
    assert samples(metrics, "penstock_store_units_total") == {("transact",): 4.5}


def test_a_call_for_a_file_is_counted_apart() -> None:
    metrics = Metrics()
    call = StoreCall("read", 1)
    ended = metrics.file_call(call)
    call.raised = errors.Unavailable
    ended()
    assert samples(metrics, "penstock_file_calls_total") == {("read", "unavailable"): 1}
    assert samples(metrics, "penstock_file_call_seconds_count") == {("read",): 1}
    assert samples(metrics, "penstock_store_calls_total") == {}


def test_an_operation_that_nobody_waits_for_is_counted_as_aborted() -> None:
    metrics = Metrics()
    gone = make_record("websocket")
    metrics.operation(gone)(gone)
    finished = make_record("sse", kind="subscription")
    ended = metrics.operation(finished)
    assert samples(metrics, "penstock_operations_running") == {("sse",): 1}
    finished.note_answer(200)
    ended(finished)
    assert samples(metrics, "penstock_operations_running") == {}
    assert samples(metrics, "penstock_operations_total") == {
        ("unknown", "websocket", "ABORTED"): 1,
        ("subscription", "sse", "OK"): 1,
    }


def test_open_streams_are_counted_when_they_are_asked_for() -> None:
    metrics = Metrics()
    streams = [1, 2, 3]
    metrics.gauges.count_streams(lambda: len(streams))
    assert samples(metrics, "penstock_open_streams") == {(): 3}
    streams.pop()
    assert samples(metrics, "penstock_open_streams") == {(): 2}


def test_connections_are_counted_with_the_reasons_of_their_ends() -> None:
    limits = time_limits(Settings.load())
    main, admin = (ConnectionGate(9, limits, lambda: 0.0) for _ in range(2))
    metrics = Metrics()
    metrics.count_connections(Gates(main, admin, 1))
    for gate in (main, main, admin):
        gate.admit(SilentConnection())
        gate.count_end(EndReason.SILENT)
    main.count_end(EndReason.TOO_MANY)
    assert samples(metrics, "penstock_open_connections") == {(): 3}
    refused = "penstock_connections_refused_total"
    assert samples(metrics, refused) == {("silent",): 3, ("too_many",): 1}
    shared = ProcessMetrics([(n, encode_metrics(metrics.registry)) for n in range(2)])
    found = [one for family in shared.collect() for one in family.samples if one.name == refused]
    assert [one.labels for one in found if one.value == 1] == [
        {"process": "0", "reason": "too_many"},
        {"process": "1", "reason": "too_many"},
    ]


class SilentConnection:
    """A connection that says nothing."""

    party = None
    body_bytes = 0
    site = ""

    def end_wait(self, _stage: Stage) -> None: ...
    def abort(self) -> None: ...
    def give_way(self) -> None: ...


async def test_operations_that_are_not_compiled_are_counted_by_reason(
    store: Store, tmp_path: Path
) -> None:
    name = 'penstock_interpreted_operations_total{reason="%s"}'
    async with open_application(store, tmp_path, executor="compiled") as app:
        for _ in range(3):
            assert "data" in (await app.ask("{ viewer { userId } }")).json()
            await app.ask("{ __schema { queryType { name } } }")
        found = await app.metrics()
    assert found[name % "first_run"] == 2
    assert found[name % "introspection"] == 2


async def test_nothing_is_compiled_where_the_settings_say_so(store: Store, tmp_path: Path) -> None:
    async with open_application(store, tmp_path, executor="reference") as app:
        for _ in range(3):
            assert "data" in (await app.ask("{ viewer { userId } }")).json()
        found = await app.metrics()
    assert not any("interpreted" in name for name in found)
