"""Spans: one for each operation, loader batch and call of the store, without their data."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, SpanKind, StatusCode

from penstock.datastore.errors import NotFound
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import InstrumentedTable
from penstock.schema.engine.documents import _digest_of_text
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.instrument import Instrumentation
from penstock.server.telemetry.tracing import open_tracing
from tests.faults.dynamodb_proxy import Fault
from tests.support.application import CREATE, FIND, SECRET, open_application, open_faulty_table

CALLER_TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The exporter of the spans: OpenTelemetry is configured for this test alone."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


def tree(spans: tuple[ReadableSpan, ...]) -> dict[str, list[Any]]:
    """Return the names of spans nested in each other, in the order they began."""
    ordered = sorted(spans, key=lambda span: span.start_time or 0)
    inside: dict[int | None, list[Any]] = {}
    for span in reversed(ordered):
        branch = {span.name: inside.pop(span.context.span_id, [])}
        inside.setdefault(span.parent.span_id if span.parent else None, []).insert(0, branch)
    (root,) = inside.pop(None)
    assert inside == {}
    return dict(root)


def one(spans: tuple[ReadableSpan, ...], name: str) -> ReadableSpan:
    (span,) = [span for span in spans if span.name == name]
    return span


def facts(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_an_operation_has_its_batches_below_it_and_those_their_calls(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with open_application(store, tmp_path) as app:
        await app.ask(FIND, headers={"x-request-id": "r1"})
    spans = exporter.get_finished_spans()
    assert tree(spans) == {"query": [{"load groups": [{"get penstock.db": []}]}]}
    operation = one(spans, "query")
    assert operation.kind is SpanKind.SERVER
    assert facts(operation) == {
        "graphql.operation.type": "query",
        "graphql.operation.name": "Find",
        "penstock.document.sha256": _digest_of_text(FIND),
        "penstock.request_id": "r1",
        "penstock.transport": "http",
        "penstock.cost": 3,
        "penstock.error_codes": ("NOT_FOUND", "NOT_FOUND", "NOT_FOUND"),
        "http.response.status_code": 200,
        "error.type": "NOT_FOUND",
    }
    assert operation.status.status_code is StatusCode.UNSET
    assert facts(one(spans, "load groups")) == {
        "penstock.loader": "groups",
        "penstock.loader.keys": 3,
    }
    assert facts(one(spans, "get penstock.db")) == {
        "db.system.name": "sqlite",
        "db.collection.name": "penstock.db",
        "db.operation.name": "get",
        "db.operation.batch.size": 3,
        "penstock.units": 3.0,
        "penstock.retries": 0,
    }


async def test_no_span_holds_a_literal_or_a_variable_or_a_stored_value(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with open_application(store, tmp_path) as app:
        assert "GroupPayload" in (await app.ask(CREATE, {"path": f"/{SECRET}"})).text
        assert f"{SECRET}-name" in (await app.ask(FIND)).text
        assert "NotFound" in (await app.ask(CREATE, {"path": f"/no/{SECRET}"})).text
        await app.ask(f'{{ group(path: "{SECRET}") {{ nothing }} }}')
        await app.ask(f'{{ group(path: "{SECRET} {{')
    spans = exporter.get_finished_spans()
    assert len([span for span in spans if span.parent is None]) == 5
    written = json.dumps([json.loads(span.to_json()) for span in spans])
    assert "transact penstock.db" in written
    for kept_out in (SECRET, "group(path", "ann", "G:/", "siKey1", "Bearer"):
        assert kept_out not in written
    assert [span.events for span in spans if span.events] == []
    assert [span.status.description for span in spans if span.status.description] == []


async def test_a_caller_s_trace_is_continued(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    parent = f"00-{CALLER_TRACE}-b7ad6b7169203331-01"
    async with open_application(store, tmp_path) as app:
        await app.ask("{ viewer { __typename } }", headers={"traceparent": parent})
        await app.ask("{ viewer { __typename } }", headers={"traceparent": "nonsense"})
    first, second = exporter.get_finished_spans()
    assert trace.format_trace_id(first.context.trace_id) == CALLER_TRACE
    assert first.parent is not None
    assert second.parent is None


async def test_a_line_of_log_names_the_trace_that_it_is_part_of(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_application(store, tmp_path, log_format="json") as app:
        await app.ask("{ viewer { __typename } }", headers={"x-request-id": "r1"})
        await app.ask(FIND, headers={"traceparent": f"00-{CALLER_TRACE}-b7ad6b7169203331-01"})
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    roots = [each.context for each in exporter.get_finished_spans() if each.name == "query"]
    assert [line["trace_id"] for line in lines] == [
        trace.format_trace_id(root.trace_id) for root in roots
    ]
    assert lines[0]["request_id"] == "r1"
    assert lines[1]["trace_id"] == CALLER_TRACE


async def test_a_span_that_is_part_of_no_trace_is_not_named(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", NoOpTracerProvider)
    async with open_application(store, tmp_path, log_format="json") as app:
        await app.ask(FIND)
    (line,) = capsys.readouterr().err.splitlines()
    assert "trace_id" not in json.loads(line)


async def test_what_the_store_went_through_is_on_the_span_of_its_call(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with (
        open_faulty_table() as (proxy, table),
        open_application(Store(table), tmp_path, store="dynamodb", table="things") as app,
    ):
        proxy.script("BatchGetItem", Fault.THROTTLED)
        await app.ask(FIND)
        proxy.chance(1, [Fault.THROTTLED], seed=1)
        table._deadline = 0.1
        await app.ask(FIND)
    spans = exporter.get_finished_spans()
    again, failed = [span for span in spans if span.name == "get things"]
    assert facts(again)["db.system.name"] == "aws.dynamodb"
    assert facts(again)["penstock.retries"] == 1
    assert again.status.status_code is StatusCode.UNSET
    assert facts(failed)["error.type"] == "Unavailable"
    assert failed.status.status_code is StatusCode.ERROR
    operation = [span for span in spans if span.name == "query"][1]
    assert facts(operation)["error.type"] == "SERVICE_UNAVAILABLE"
    assert operation.status.status_code is StatusCode.ERROR


async def test_a_call_for_a_file_has_a_span_below_its_operation_and_names_no_file(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    local = await LocalFiles.open(tmp_path, base_url="http://localhost", key=b"k" * 32)
    watching = Instrumentation.of(Settings.load(metrics=False, access_log=False))
    files = watching.instrument_store(replace(store, files=local)).files
    assert await files.list("") == ()
    with trace.get_tracer_provider().get_tracer("test").start_as_current_span("query"):
        with pytest.raises(NotFound):
            [chunk async for chunk in files.read(SECRET)]
        assert await files.stat(SECRET) is None
    spans = exporter.get_finished_spans()
    assert tree(spans) == {"query": [{"read file": []}, {"stat file": []}]}
    read, stat = one(spans, "read file"), one(spans, "stat file")
    assert facts(stat)["penstock.files.operation"] == "stat"
    assert (facts(read)["error.type"], read.status.status_code) == ("NotFound", StatusCode.ERROR)
    assert SECRET not in json.dumps([json.loads(span.to_json()) for span in spans])


async def test_a_readiness_probe_leaves_no_span(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    async with open_application(store, tmp_path) as app:
        assert (await app.client.get("/readyz")).status_code == 200
        assert (await app.client.options("/graphql")).status_code == 204
    assert exporter.get_finished_spans() == ()


def test_without_the_sdk_nothing_is_watched(store: Store) -> None:
    assert open_tracing("sqlite", "penstock.db") is None
    watching = Instrumentation.of(Settings.load(metrics=False, access_log=False))
    assert watching.instrument_store(store) is store
    assert watching.operation_watchers == ()


def test_with_the_sdk_the_store_is_watched(store: Store, exporter: InMemorySpanExporter) -> None:
    watching = Instrumentation.of(Settings.load(metrics=False, access_log=False))
    assert isinstance(watching.instrument_store(store).table, InstrumentedTable)
    assert len(watching.operation_watchers) == 1
    assert exporter.get_finished_spans() == ()
