"""Lineage by the settings: what an application, a worker and a command tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.manifest.records import RunState
from penstock.datastore.store import Store
from penstock.server.command_line import run
from penstock.server.commands.worker import _run_worker
from penstock.server.lineage.lineage import Lineage, deliver_lineage
from penstock.server.runtime.stop_signals import StopSignals
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.instrument import Instrumentation
from tests.datastore.executions.sample_executions import (
    finished_execution,
    plant_pipeline,
    ready_execution,
)
from tests.datastore.manifest.sample_runs import bring_to
from tests.server.commands.doctor_report import isolate
from tests.server.lineage.openlineage_check import check_event
from tests.support.sample_resources import SUPER


def read_events(file: Path) -> list[tuple[str, str]]:
    """The types and jobs of the events in a file, which are checked."""
    found = [check_event(line) for line in file.read_bytes().splitlines()]
    return [(each["eventType"], each["job"]["name"]) for each in found]


async def test_an_instrumented_store_tells_of_executions_and_runs(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "lineage.ndjson"
    settings = Settings.load(data_dir=tmp_path, openlineage_url=file.as_uri())
    instrumentation = Instrumentation.of(settings)
    watched = instrumentation.watch_work(store)
    async with deliver_lineage(instrumentation.lineage, watched):
        await finished_execution(watched, await plant_pipeline(watched))
        await bring_to(watched.open_session(SUPER), RunState.LOADED)
    assert read_events(file) == [
        ("START", "pipelines/Trips"),
        ("COMPLETE", "pipelines/Trips"),
        ("START", "manifests/snowplow/transform"),
        ("COMPLETE", "manifests/snowplow/transform"),
        ("START", "manifests/snowplow/load"),
        ("COMPLETE", "manifests/snowplow/load"),
    ]
    assert instrumentation.metrics is not None
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in instrumentation.metrics.registry.collect()
        for sample in family.samples
    }
    assert found["penstock_openlineage_events_total", "sent"] == 6
    assert found["penstock_openlineage_events_total", "dropped"] == 0
    assert found["penstock_openlineage_pending",] == 0


def test_without_a_url_nothing_is_told(tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path)
    assert Lineage.of(settings) is None
    assert Instrumentation.of(settings).lineage is None


async def test_a_worker_of_its_own_tells_of_its_executions(tmp_path: Path) -> None:
    file = tmp_path / "lineage.ndjson"
    settings = Settings.load(data_dir=tmp_path, openlineage_url=file.as_uri())
    async with open_table(settings) as table, open_files(settings) as files:
        await table.create()
        store = build_store(table, settings, files)
        await ready_execution(store, await plant_pipeline(store))
    await _run_worker(settings, True, StopSignals())
    assert [kind for kind, _ in read_events(file)] == ["START", "COMPLETE"]


def test_a_command_tells_of_the_run_that_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "lineage.ndjson"
    with isolate(tmp_path, monkeypatch):
        monkeypatch.setenv("PENSTOCK_DATA_DIR", str(tmp_path / "data"))
        monkeypatch.setenv("PENSTOCK_OPENLINEAGE_URL", file.as_uri())
        monkeypatch.setenv("PENSTOCK_OPENLINEAGE_NAMESPACE", "prod")
        assert run(["table", "create"]) == 0
        named = ["--manifest", "snowplow"]
        assert run(["manifest", "discover", "r/", "--added-by", "t", *named]) == 0
        claim = ["claim", "r/", "--stage", "transform", "--owner", "w"]
        assert run(["manifest", *claim, *named]) == 0
    capsys.readouterr()
    assert read_events(file) == [("START", "manifests/snowplow/transform")]
    assert json.loads(file.read_text())["job"]["namespace"] == "prod"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"openlineage_url": "ftp://x/y"}, "PENSTOCK_OPENLINEAGE_URL: must be an http"),
        ({"openlineage_url": "https://u:p@x/y"}, "PENSTOCK_OPENLINEAGE_URL: must be an http"),
        ({"openlineage_url": "file://relative/path"}, "PENSTOCK_OPENLINEAGE_URL: must be an http"),
        ({"openlineage_key": "k3y"}, "PENSTOCK_OPENLINEAGE_KEY: goes with an https URL"),
        (
            {"openlineage_url": "http://marquez:5000/x", "openlineage_key": "k3y"},
            "PENSTOCK_OPENLINEAGE_KEY: goes with an https URL",
        ),
    ],
)
def test_urls_that_leak_or_lead_nowhere_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.load(**given)
    (found,) = refused.value.problems
    assert found.startswith(problem)
    assert "k3y" not in found
    assert "u:p" not in found


@pytest.mark.parametrize(
    "given",
    [
        {"openlineage_url": "http://marquez:5000/api/v1/lineage"},
        {"openlineage_url": "https://c.example/lineage", "openlineage_key": "k3y"},
        {"openlineage_url": "http://127.0.0.1:5000/", "openlineage_key": "k3y"},
    ],
)
def test_a_catalogue_on_the_network_gets_a_key_by_tls_only(given: dict[str, Any]) -> None:
    assert Settings.load(**given).openlineage_url == given["openlineage_url"]
