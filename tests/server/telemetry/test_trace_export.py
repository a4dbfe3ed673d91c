"""The export of spans to a collector, which OpenTelemetry's own variables name."""

import os
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import ProxyTracerProvider

from penstock.datastore.store import Store
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.telemetry import span_export
from penstock.server.telemetry.span_export import export_spans
from tests.support.application import CREATE, SECRET, open_application
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS

HERE = "http://127.0.0.1:9"


class Provider(TracerProvider):
    """Records its shutdown, as soon as the test allows it."""

    def __init__(self, may_stop: Event) -> None:
        super().__init__(shutdown_on_exit=False)
        self.stopped = False
        self._may_stop = may_stop

    def shutdown(self) -> None:
        self._may_stop.wait(HUNG_SECONDS)
        self.stopped = True


@pytest.fixture(autouse=True)
def tracer_providers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The providers in use, first to last; no trace of them stays after the test."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    used: list[Any] = [ProxyTracerProvider()]
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: used[-1])
    monkeypatch.setattr(trace, "set_tracer_provider", used.append)
    return used


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": HERE, "OTEL_SDK_DISABLED": "True"},
    ],
)
async def test_without_a_collector_nothing_is_configured(
    variables: dict[str, str], tracer_providers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with export_spans():
        assert len(tracer_providers) == 1


async def test_a_missing_sdk_is_told_with_what_to_install(
    tracer_providers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: str) -> object:
        raise ModuleNotFoundError("no module", name="opentelemetry.exporter")

    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", HERE)
    monkeypatch.setattr(span_export, "import_module", missing)
    with pytest.raises(CommandFailed, match="with its extra `otel`") as raised:
        async with export_spans():
            pass
    assert raised.value.code is ExitCode.USAGE
    assert len(tracer_providers) == 1


@pytest.mark.parametrize(
    "variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
)
async def test_what_is_left_is_sent_in_the_end(
    variable: str, tracer_providers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    may_stop = Event()
    may_stop.set()
    provider = Provider(may_stop)
    monkeypatch.setenv(variable, HERE)
    monkeypatch.setattr(span_export, "_provider", lambda: provider)
    async with export_spans():
        assert tracer_providers[1:] == [provider]
        assert not provider.stopped
    assert provider.stopped


async def test_a_collector_that_does_not_answer_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_stop = Event()
    provider = Provider(may_stop)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", HERE)
    monkeypatch.setattr(span_export, "_provider", lambda: provider)
    monkeypatch.setattr(span_export, "FLUSH_SECONDS", 0.05)
    async with export_spans():
        pass
    assert not provider.stopped
    may_stop.set()


async def test_an_agent_that_configured_the_sdk_is_left_in_charge(
    tracer_providers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = TracerProvider(shutdown_on_exit=False)
    tracer_providers.append(agents)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", HERE)
    async with export_spans():
        assert tracer_providers[-1] is agents


async def test_a_collector_receives_the_spans_without_what_they_were_about(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="penstock[otel]")
    requests: list[Request] = []

    async def collect(request: Request, connection: Connection) -> None:
        requests.append(request)
        await connection.answer(Answer(200, b"", {"Content-Type": "application/x-protobuf"}))

    collector = LoopbackServer(collect)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", await collector.start())
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    async with export_spans(), open_application(store, tmp_path) as app:
        assert "GroupPayload" in (await app.ask(CREATE, {"path": f"/{SECRET}"})).text
    await collector.stop()
    (request,) = requests
    assert request.target == "/v1/traces"
    for told in (b"penstock", b"mutation", b"transact penstock.db", b"graphql.operation.name"):
        assert told in request.body
    assert SECRET.encode() not in request.body


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({}, "penstock"),
        ({"OTEL_SERVICE_NAME": "mine"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,a=b"}, "mine"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "a=b"}, "penstock"),
    ],
)
def test_the_service_is_named_unless_its_operator_did(
    variables: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="penstock[otel]")
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    made = import_module("penstock.server.telemetry.otlp").provider()
    assert made.resource.attributes["service.name"] == name
    made.shutdown()
