"""Events of the work on runs of manifests, as a catalogue gets them."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.datastore.work_reports import RunChange, RunReport, RunSubject
from penstock.server.lineage.events import RELEASE, derived_run_id
from penstock.server.lineage.names import LineageNames
from penstock.server.lineage.run_events import run_event
from tests.server.lineage.openlineage_check import check_event

NAMES = LineageNames("penstock", "events")
ID = "019a4d3c-7e10-7b52-9c1f-0a1b2c3d4e5f"
SUBJECT = RunSubject(
    group="/usa",
    manifest="Snowplow",
    folder="enriched/archive/run=2018-12-11-00-00-00/",
    fence=1,
    pipeline="web",
    saved_to="s3://stage/snow/run=2018-12-11-00-00-00/",
    types=("contexts_a_1",),
    tags=(("country", "de"),),
    batch="2018-12-11",
    error="disk full",
)


def report(change: RunChange, stage: str = "transform", **subject: Any) -> RunReport:
    changed = msgspec.structs.replace(SUBJECT, **subject)
    return RunReport(
        change=change,
        id=ID,
        stage=stage,
        at=1544529600.25,
        attempt=1,
        claim=f"{ID}-{changed.fence}",
        subject=changed,
    )


def event_of(change: RunChange, stage: str = "transform", **subject: Any) -> dict[str, Any]:
    """The event of a change, which is checked."""
    return check_event(msgspec.json.encode(run_event(report(change, stage, **subject), NAMES)))


@pytest.mark.parametrize(
    ("change", "stage", "told"),
    [
        (RunChange.CLAIMED, "transform", "START"),
        (RunChange.PROCESSED, "transform", "COMPLETE"),
        (RunChange.LOADED, "load", "COMPLETE"),
        (RunChange.FAILED, "load", "FAIL"),
        (RunChange.GIVEN_UP, "transform", "FAIL"),
        (RunChange.CLAIM_LOST, "load", "ABORT"),
    ],
)
def test_each_change_is_an_event_that_the_specification_knows(
    change: RunChange, stage: str, told: str
) -> None:
    event = event_of(change, stage)
    assert (event["eventType"], event["eventTime"]) == (told, "2018-12-11T12:00:00.250Z")
    assert event["job"]["namespace"] == "penstock/usa"
    assert event["job"]["name"] == f"manifests/snowplow/{stage}"
    assert ("errorMessage" in event["run"]["facets"]) is (told == "FAIL")
    assert bool(event["outputs"]) is (change is RunChange.PROCESSED)


def test_a_run_of_the_catalogue_is_a_claim_and_a_part_of_the_run() -> None:
    first, second = (event_of(RunChange.CLAIMED, fence=fence)["run"] for fence in (1, 2))
    assert first["runId"] == event_of(RunChange.PROCESSED)["run"]["runId"]
    assert first["runId"] == derived_run_id(ID, 1) != second["runId"]
    assert first["runId"][:13] == ID[:13]
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab].*", first["runId"])
    for run in (first, second):
        parent = run["facets"]["parent"]
        assert parent["run"] == {"runId": ID}
        assert parent["job"] == {"namespace": "penstock/usa", "name": "manifests/snowplow"}


def test_folders_are_datasets_of_their_buckets() -> None:
    source = {"namespace": "s3://events", "name": "enriched/archive/run=2018-12-11-00-00-00"}
    output = {"namespace": "s3://stage", "name": "snow/run=2018-12-11-00-00-00"}
    processed, loaded = event_of(RunChange.PROCESSED), event_of(RunChange.LOADED, "load")
    assert (processed["inputs"], processed["outputs"]) == ([source], [output])
    assert (loaded["inputs"], loaded["outputs"]) == ([output], [])
    assert event_of(RunChange.CLAIMED, folder="//")["inputs"][0]["name"] == "/"


def test_a_run_tells_its_time_its_tags_and_its_error() -> None:
    facets = event_of(RunChange.FAILED)["run"]["facets"]
    assert facets["nominalTime"]["nominalStartTime"] == "2018-12-11T00:00:00.000Z"
    assert facets["tags"]["tags"] == [
        {"key": "country", "value": "de", "source": "USER"},
        {"key": "batch", "value": "2018-12-11", "source": "MANIFEST"},
    ]
    assert facets["errorMessage"]["message"] == "disk full"


@pytest.mark.parametrize("folder", ["archive/run=1/", "archive/run=2018-02-30-00-00-00/"])
def test_a_folder_that_names_no_time_has_none(folder: str) -> None:
    bare = event_of(RunChange.FAILED, folder=folder, tags=(), batch=None, error=None)
    assert set(bare["run"]["facets"]) == {"parent", "errorMessage"}
    assert bare["run"]["facets"]["errorMessage"]["message"] == "no reason was told"


def test_the_sink_tells_the_tables_that_it_loads_and_how_much() -> None:
    event = event_of(
        RunChange.LOADED,
        "load",
        group="/",
        manifest="ngsi",
        types=("cars", "buses"),
        counts={"items": 5, "items:cars": 3, "items:buses": 2, "events": 4},
    )
    assert event["job"]["namespace"] == "penstock"
    assert event["run"]["facets"]["processing_engine"]["version"] == RELEASE
    found = {
        (each["namespace"], each["name"], each["outputFacets"]["outputStatistics"]["rowCount"])
        for each in event["outputs"]
    }
    assert found == {("penstock", "samples/cars", 3), ("penstock", "samples/buses", 2)}


def test_the_page_shows_an_event_as_it_is_sent() -> None:
    page = (Path(__file__).parents[3] / "docs" / "lineage.md").read_text()
    (block,) = re.findall(r"```json event.json\n(.*?)```", page, re.DOTALL)
    shown = check_event(block.encode())
    assert shown == event_of(RunChange.PROCESSED) == check_event(block.encode())
