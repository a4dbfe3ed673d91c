"""`penstock worker` logs and traces what it does; no server learns of it."""

import logging
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock.server.commands.worker import _run_worker
from penstock.server.runtime.stop_signals import StopSignals
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.settings.settings import Settings
from tests.datastore.executions.sample_executions import plant_pipeline, ready_execution


@pytest.mark.parametrize("access_log", [True, False])
async def test_a_worker_of_its_own_logs_and_traces_its_executions(
    tmp_path: Path,
    access_log: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    caplog.set_level(logging.INFO, "penstock.executions")
    settings = Settings.load(data_dir=tmp_path, access_log=access_log)
    async with open_table(settings) as table, open_files(settings) as files:
        await table.create()
        store = build_store(table, settings, files)
        made = await ready_execution(store, await plant_pipeline(store))
    await _run_worker(settings, True, StopSignals())
    lines = [each.message for each in caplog.records if each.name == "penstock.executions"]
    assert lines == (["execution started", "execution ended"] if access_log else [])
    (span,) = exporter.get_finished_spans()
    assert (span.name, span.links) == ("execution", ())
    assert dict(span.attributes or {})["penstock.execution.id"] == made.id
