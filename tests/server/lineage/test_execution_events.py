"""Events of executions, from the changes that a worker makes to the texts that are sent."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.records import ExecutionRules, OutputFormat
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.work_reports import ExecutionReport
from penstock.server.lineage.events import derived_run_id
from penstock.server.lineage.execution_events import EXECUTION_TYPES, execution_events
from penstock.server.lineage.names import LineageNames
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    begin_execution,
    plant_pipeline,
    ready_execution,
)
from tests.server.lineage.openlineage_check import check_event
from tests.support.sample_resources import Watch

NAMES = LineageNames("penstock", "files")


@pytest.fixture
def told() -> list[ExecutionReport]:
    return []


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def watched(store: Store, told: list[ExecutionReport], watch: Watch) -> Store:
    rules = ExecutionRules(watch=told.append)
    return replace(store, execution_rules=rules, clock=replace(store.clock, now=watch))


@pytest.fixture
async def pipeline(watched: Store) -> Pipeline:
    return await plant_pipeline(watched)


async def events_of(store: Store, told: list[ExecutionReport]) -> list[dict[str, Any]]:
    """The events of all that was told so far, which are checked."""
    found = []
    for report in told:
        if report.change in EXECUTION_TYPES:
            subject = await store.read_execution_subject(report.id, report.at)
            assert subject is not None
            found += execution_events(report, subject, NAMES)
    return [check_event(msgspec.json.encode(event)) for event in found]


def kinds(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(each["eventType"], each["run"]["runId"]) for each in events]


async def run_all(store: Store) -> None:
    assert await store.execution_worker("w").run_all() == 1


async def test_an_execution_starts_and_completes_with_its_files(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport], watch: Watch
) -> None:
    made = await ready_execution(watched, pipeline)
    await run_all(watched)
    start, end = await events_of(watched, told)
    assert kinds([start, end]) == [("START", made.id), ("COMPLETE", made.id)]
    assert end["eventTime"] == watch.time.isoformat(timespec="milliseconds")[:23] + "Z"
    assert (end["job"]["namespace"], end["job"]["name"]) == ("penstock/usa", "pipelines/Trips")
    described = end["job"]["facets"]["documentation"]["description"]
    assert described.startswith("Version 1 of the pipeline.")
    folder = f"pipelines/{pipeline.id}/1/executions/{made.id}"
    (source,) = end["inputs"]
    assert source["namespace"] == "s3://files"
    assert source["name"].startswith(f"{folder}/input.")
    assert source["inputFacets"]["inputStatistics"]["size"] == len(INPUT)
    rows = [
        (each["name"], each["outputFacets"]["outputStatistics"]["rowCount"])
        for each in end["outputs"]
    ]
    assert rows == [(f"{folder}/output.txt", 2), (f"{folder}/errors.csv", 1)]
    assert start["outputs"] == []


async def test_the_parquet_file_is_the_output_where_that_was_asked_for(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    await ready_execution(watched, pipeline, output_format=OutputFormat.PARQUET)
    await run_all(watched)
    *_, end = await events_of(watched, told)
    assert end["outputs"][0]["name"].endswith("/output.parquet")


async def test_a_failure_tells_its_code_and_no_cell(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    await ready_execution(watched, pipeline, b"distance,fuel\ns3cr3t,gas\n")
    await run_all(watched)
    _, end = await events_of(watched, told)
    assert end["eventType"] == "FAIL"
    assert end["run"]["facets"]["errorMessage"]["message"] == "ALL_ROWS_FAILED"
    assert (end["outputs"], "s3cr3t" in repr(end)) == ([], False)


async def test_a_retry_is_another_run(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport], watch: Watch
) -> None:
    made = await ready_execution(watched, pipeline, b"distance,fuel\nfar,gas\n")
    await run_all(watched)
    watch.move(timedelta(minutes=1))
    await watched.open_session(ANN).executions.changing.retry(made.id)
    await run_all(watched)
    again = derived_run_id(made.id, 1)
    assert kinds(await events_of(watched, told)) == [
        ("START", made.id),
        ("FAIL", made.id),
        ("START", again),
        ("FAIL", again),
    ]


async def test_a_worker_that_takes_over_is_still_the_same_run(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport], watch: Watch
) -> None:
    made = await ready_execution(watched, pipeline)
    claims = Claims(watched.table, watched.clock, watched.execution_rules)
    assert await claims.claim(made, "a") is not None
    watch.move(timedelta(minutes=5))
    assert await watched.execution_worker("b").run_one()
    found = await events_of(watched, told)
    assert [kind for kind, _ in kinds(found)] == ["START", "RUNNING", "COMPLETE"]


async def test_a_cancelled_run_is_aborted_if_it_had_started(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    never = await begin_execution(watched, pipeline)
    started = await ready_execution(watched, pipeline)
    claims = Claims(watched.table, watched.clock, watched.execution_rules)
    assert await claims.claim(started, "a") is not None
    for each in (never, started):
        await watched.open_session(ANN).executions.changing.cancel(each.id)
    assert kinds(await events_of(watched, told)) == [("START", started.id), ("ABORT", started.id)]


async def test_a_copied_result_starts_and_completes_at_once(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    for _ in range(2):
        copied = await ready_execution(watched, pipeline)
        await run_all(watched)
    assert kinds(await events_of(watched, told))[-2:] == [
        ("START", copied.id),
        ("COMPLETE", copied.id),
    ]


async def test_an_execution_that_is_gone_has_no_subject(store: Store) -> None:
    assert await store.read_execution_subject("019a4d3c-7e10-7b52-9c1f-0a1b2c3d4e5f", 0.0) is None
