"""The export of spans: to a collector, if OpenTelemetry's own variables name one."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider

from penstock.server.core.command_output import CommandFailed, ExitCode

FLUSH_SECONDS: Final = 2.0

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@asynccontextmanager
async def export_spans() -> AsyncIterator[None]:
    """Export spans if a collector is configured, and flush the rest at the end.

    If an agent configured the SDK already, that stays. Raises CommandFailed if the SDK is not
    installed. A collector that does not answer at the end is given up after FLUSH_SECONDS.
    """
    if not _is_exporting() or not isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        yield
        return
    provider = _provider()
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        # A daemon thread can be abandoned; the SDK itself would wait for half a minute.
        flushing = Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, FLUSH_SECONDS)


def _is_exporting() -> bool:
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(os.environ.get(name) for name in _ENDPOINTS)


def _provider() -> Any:
    try:
        return import_module("penstock.server.telemetry.otlp").provider()
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"{_ENDPOINTS[0]} names a collector, but {error.name} is not installed: install "
            "Penstock with its extra `otel`.",
            code=ExitCode.USAGE,
        ) from error
