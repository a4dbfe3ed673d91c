"""Executions and jobs in metrics, logs and spans, through the whole application."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.claims.claims import ExecutionQueue
from penstock.datastore.jobs.jobs import JobKind, JobQueue
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.work_reports import (
    ExecutionChange,
    ExecutionReport,
    LostClaim,
    RunChange,
    RunReport,
    RunSubject,
)
from penstock.schema.core.relay import GlobalId
from penstock.server.core.siblings import Siblings
from penstock.server.settings.settings import Settings
from penstock.server.telemetry import work_spans
from penstock.server.telemetry.instrument import Instrumentation
from penstock.server.telemetry.metrics import Metrics
from tests.datastore.executions.sample_executions import plant_pipeline, ready_execution
from tests.support.application import ApplicationClient, open_application
from tests.support.sample_resources import create_groups

RUN = """mutation($id: ID!, $rows: [JSON!]!) {
  createExecution(input: {pipelineId: $id, mode: INLINE, rows: $rows}) {
    ... on CreateExecutionPayload { execution { state } } } }"""
CASCADE = """mutation { deleteGroup(input: {path: "/usa", cascade: true}) {
  ... on DeleteGroupPayload { job { id } } } }"""

ENDED = ExecutionReport(
    change=ExecutionChange.SUCCEEDED,
    id="e",
    pipeline="p",
    mode="job",
    at=1_660_000_100.5,
    attempt=1,
    seconds=100.5,
    rows_succeeded=8,
    rows_failed=2,
    bytes_read=300,
    bytes_written=200,
)


def change(kind: ExecutionChange, **more: Any) -> ExecutionReport:
    """A change of the execution without an end."""
    return ExecutionReport(change=kind, id="e", pipeline="p", mode="job", at=0.0, **more)


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """The exporter of the spans: OpenTelemetry is configured for this test alone."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    return exporter


async def run_rows(app: ApplicationClient, pipeline: Pipeline, *rows: Any) -> str:
    variables = {"id": GlobalId("Pipeline", pipeline.id).encode(), "rows": rows}
    answer = (await app.ask(RUN, variables)).json()
    state: str = answer["data"]["createExecution"]["execution"]["state"]
    return state


GOOD = {"distance": 3, "fuel": "gas"}
BAD = {"distance": "s3cr3t", "fuel": "gas"}


async def test_executions_of_requests_are_counted(store: Store, tmp_path: Path) -> None:
    pipeline = await plant_pipeline(store)
    async with open_application(store, tmp_path) as app:
        assert await run_rows(app, pipeline, GOOD, BAD) == "SUCCESS"
        assert await run_rows(app, pipeline, BAD) == "FAILED"
        found = await app.metrics()
    assert found['penstock_executions_requested_total{mode="inline"}'] == 2
    assert found['penstock_executions_started_total{mode="inline"}'] == 2
    assert found['penstock_executions_ended_total{mode="inline",state="succeeded"}'] == 1
    assert found['penstock_executions_ended_total{mode="inline",state="failed"}'] == 1
    assert found['penstock_execution_seconds_count{mode="inline"}'] == 2
    assert found['penstock_execution_wait_seconds_count{mode="inline"}'] == 2
    assert found['penstock_execution_rows_total{outcome="succeeded"}'] == 1
    assert found['penstock_execution_rows_total{outcome="failed"}'] == 2
    assert found['penstock_execution_bytes_total{direction="read"}'] > 20
    assert found["penstock_queue_age_seconds"] == 0


async def test_an_execution_is_a_line_at_its_start_and_one_at_its_end_with_the_reason(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = await plant_pipeline(store)
    caplog.set_level(logging.INFO, "penstock.executions")
    async with open_application(store, tmp_path) as app:
        await run_rows(app, pipeline, BAD)
    started, ended = [each for each in caplog.records if each.name == "penstock.executions"]
    assert (started.message, started.levelname) == ("execution started", "INFO")
    assert facts_of(started, "pipeline", "mode", "attempt", "again") == (
        pipeline.id,
        "inline",
        1,
        False,
    )
    assert facts_of(ended, "outcome", "reason", "rows", "rejected_rows") == (
        "failed",
        "ALL_ROWS_FAILED",
        0,
        1,
    )
    assert facts_of(started, "execution") == facts_of(ended, "execution")
    assert "s3cr3t" not in repr([vars(each) for each in (started, ended)])


def facts_of(record: logging.LogRecord, *names: str) -> tuple[Any, ...]:
    return tuple(vars(record)[name] for name in names)


async def test_lines_of_work_are_off_with_the_access_log(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = await plant_pipeline(store)
    caplog.set_level(logging.INFO, "penstock.executions")
    async with open_application(store, tmp_path, access_log=False) as app:
        await run_rows(app, pipeline, GOOD)
    assert "execution" not in caplog.text


async def test_an_execution_is_a_span_linked_to_the_request_that_made_it(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    pipeline = await plant_pipeline(store)
    async with open_application(store, tmp_path) as app:
        await run_rows(app, pipeline, GOOD, BAD)
    request, span = one(exporter, "mutation"), one(exporter, "execution")
    assert span.parent is None
    assert [link.context.span_id for link in span.links] == [request.context.span_id]
    assert [link.context.trace_id for link in span.links] == [request.context.trace_id]
    found: dict[str, Any] = dict(span.attributes or {})
    assert found.pop("penstock.execution.id")
    assert found.pop("penstock.execution.bytes_read") > 20
    assert found.pop("penstock.execution.bytes_written") > 10
    assert found == {
        "penstock.pipeline.id": pipeline.id,
        "penstock.execution.mode": "inline",
        "penstock.execution.attempt": 1,
        "penstock.execution.outcome": "succeeded",
        "penstock.execution.rows": 1,
        "penstock.execution.rejected_rows": 1,
    }
    assert span.status.status_code is StatusCode.UNSET


def one(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (span,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return span


async def test_a_job_is_counted_logged_and_traced(
    store: Store, tmp_path: Path, exporter: InMemorySpanExporter, caplog: pytest.LogCaptureFixture
) -> None:
    await create_groups(store)
    caplog.set_level(logging.INFO, "penstock.jobs")
    instrumentation = Instrumentation.of(Settings.load(data_dir=tmp_path))
    watched = instrumentation.watch_work(store)
    async with open_application(watched, tmp_path) as app:
        answer = (await app.ask(CASCADE)).json()
        assert answer["data"]["deleteGroup"]["job"]["id"]
        waiting = await app.metrics()
    assert waiting['penstock_jobs_requested_total{kind="delete_group"}'] == 1
    assert waiting['penstock_unfinished_jobs{kind="delete_group"}'] == 1
    assert await watched.run_jobs("w") == 1
    assert instrumentation.metrics is not None
    found = {
        (each.name, *each.labels.values()): each.value
        for family in instrumentation.metrics.registry.collect()
        for each in family.samples
    }
    assert found["penstock_jobs_started_total", "delete_group"] == 1
    assert found["penstock_jobs_ended_total", "delete_group", "done"] == 1
    assert found["penstock_job_seconds_count", "delete_group"] == 1
    steps = found["penstock_job_steps_total", "delete_group"]
    started, ended = [each for each in caplog.records if each.name == "penstock.jobs"]
    assert (started.message, ended.message) == ("job started", "job ended")
    assert facts_of(ended, "kind", "outcome", "reason", "steps") == (
        "delete_group",
        "done",
        None,
        steps,
    )
    assert dict(one(exporter, "job").attributes or {})["penstock.job.steps"] == steps


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    return {
        (sample.name.removeprefix("penstock_"), *sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
    }


def test_each_change_counts_where_it_belongs() -> None:
    metrics = Metrics()
    for report in (
        change(ExecutionChange.CREATED),
        change(ExecutionChange.STARTED, attempt=1, waited=7.0),
        change(ExecutionChange.CLAIM_LOST, attempt=1, reason=LostClaim.WORKER_DIED),
        change(ExecutionChange.TAKEN_OVER, attempt=2),
        ENDED,
        change(ExecutionChange.RETRIED),
        change(ExecutionChange.CANCELLED),
    ):
        metrics.work.execution(report)
    found = samples(metrics)
    assert found["executions_requested_total", "job"] == 1
    assert found["executions_started_total", "job"] == 1
    assert found["executions_taken_over_total", "job"] == 1
    assert found["execution_claims_lost_total", "worker_died"] == 1
    assert found["executions_ended_total", "job", "succeeded"] == 1
    assert found["executions_ended_total", "job", "cancelled"] == 1
    assert found["execution_wait_seconds_sum", "job"] == 7.0
    assert found["execution_seconds_count", "job"] == 1
    assert found["execution_seconds_sum", "job"] == 100.5
    assert found["execution_rows_total", "failed"] == 2
    assert found["execution_bytes_total", "written"] == 200


def test_a_run_that_was_given_up_is_counted_and_a_warning(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = Instrumentation.of(Settings.load(data_dir=tmp_path, access_log=False))
    watched = instrumentation.watch_work(store)
    failed = RunReport(
        change=RunChange.FAILED,
        id="r-1",
        stage="load",
        at=1.0,
        attempt=2,
        claim="r-1-2",
        subject=RunSubject(group="/", manifest="s3cr3t", folder="run=1/", fence=2),
    )
    for report in (failed, msgspec.structs.replace(failed, change=RunChange.GIVEN_UP, attempt=3)):
        watched.watch_run(report)
    assert instrumentation.metrics is not None
    found = samples(instrumentation.metrics)
    assert found["runs_failed_total", "load"] == 1
    assert found["runs_given_up_total", "load"] == 1
    assert found["runs_given_up_total", "transform"] == 0
    (line,) = [each for each in caplog.records if each.name == "penstock.runs"]
    assert (line.levelname, line.message) == ("WARNING", "run given up")
    assert facts_of(line, "run", "stage", "attempt") == ("r-1", "load", 3)
    assert "s3cr3t" not in repr(vars(line))


QUEUES = (ExecutionQueue(5, 2, 90.0), JobQueue({JobKind.IMPORT_AUDIO: 3}, 30.0))


async def test_queues_that_cannot_be_read_are_left_out() -> None:
    metrics, answers = Metrics(), [QUEUES, Unavailable("The store did not answer.")]

    async def read() -> Any:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    metrics.count_queues(read)
    await metrics.work.refresh()
    found = samples(metrics)
    assert found["queue_executions", "waiting"] == 5
    assert found["queue_executions", "running"] == 2
    assert (found["queue_age_seconds",], found["unfinished_job_age_seconds",]) == (90.0, 30.0)
    assert found["unfinished_jobs", "import_audio"] == 3
    assert metrics.work._recent is not None
    metrics.work._recent._stale_at = 0.0
    await metrics.work.refresh()
    assert not [name for name, *_ in samples(metrics) if name.startswith(("queue", "unfinished"))]


async def test_a_flood_of_scrapes_reads_the_queues_once(store: Store, tmp_path: Path) -> None:
    metered = MeteredTable(store.table)
    async with open_application(replace(store, table=metered), tmp_path) as app:
        before = metered.units.rcu
        headers = [{"accept": kind} for kind in ("text/plain", "application/openmetrics-text")]
        asked = [app.client.get("/metrics", headers=each) for each in headers * 20]
        assert {each.status_code for each in await asyncio.gather(*asked)} == {200}
    assert metered.units.rcu - before == 8 * 0.5 + 0.5


async def test_of_several_processes_only_the_first_reads_the_queues() -> None:
    reads = []

    async def read() -> Any:
        reads.append(1)
        return QUEUES

    for index in range(3):
        metrics = Metrics(Siblings(index, 3, "x", 0))
        metrics.count_queues(read)
        await metrics.work.refresh()
    assert len(reads) == 1


def test_the_release_and_the_store_are_told() -> None:
    (name,) = [each for each in samples(Metrics(store="dynamodb")) if each[0] == "info"]
    assert name[2] == "dynamodb"


def test_what_a_worker_process_did_is_counted_and_not_logged_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    instrumentation = Instrumentation.of(Settings.load(data_dir=tmp_path))
    instrumentation.show_from_worker(ENDED)
    assert instrumentation.metrics is not None
    found = samples(instrumentation.metrics)
    assert found["executions_ended_total", "job", "succeeded"] == 1
    assert "execution" not in caplog.text


async def test_a_span_of_another_server_s_execution_has_no_link_and_its_own_times(
    tmp_path: Path, exporter: InMemorySpanExporter
) -> None:
    instrumentation = Instrumentation.of(Settings.load(data_dir=tmp_path))
    failed = msgspec.structs.replace(
        ENDED, change=ExecutionChange.FAILED, reason="ATTEMPTS_EXHAUSTED"
    )
    instrumentation.show_from_worker(failed)
    span = one(exporter, "execution")
    assert span.links == ()
    assert (span.start_time, span.end_time) == (1_660_000_000 * 10**9, 1_660_000_100_500_000_000)
    assert span.status.status_code is StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "ATTEMPTS_EXHAUSTED"


def test_the_requests_that_are_remembered_are_bounded(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_spans, "REMEMBERED", 2)
    tracer = work_spans.open_tracer()
    assert tracer is not None
    spans = work_spans.WorkSpans(tracer)
    with tracer.start_as_current_span("request"):
        for id in "abc":
            spans.execution(msgspec.structs.replace(change(ExecutionChange.CREATED), id=id))
    for id in "abc":
        spans.execution(msgspec.structs.replace(ENDED, id=id))
    made = [each for each in exporter.get_finished_spans() if each.name == "execution"]
    assert [len(span.links) for span in made] == [0, 1, 1]


async def test_a_run_of_a_file_is_logged_by_whoever_works_on_it(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = await plant_pipeline(store)
    caplog.set_level(logging.INFO, "penstock.executions")
    watched = Instrumentation.of(Settings.load(data_dir=tmp_path)).watch_work(store)
    made = await ready_execution(watched, pipeline)
    assert await watched.execution_worker("w").run_all() == 1
    found = [each for each in caplog.records if each.name == "penstock.executions"]
    assert [each.message for each in found] == ["execution started", "execution ended"]
    assert {vars(each)["execution"] for each in found} == {made.id}
    assert vars(found[1])["seconds"] >= 0
