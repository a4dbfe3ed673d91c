"""Sends spans to a collector, where OpenTelemetry's own variables name one."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from threading import Thread
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider

from penstock.server.outcome import CommandFailed, ExitCode

FLUSH_SECONDS: Final = 2.0

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


@asynccontextmanager
async def exporting() -> AsyncIterator[None]:
    """Export spans from here on if a collector is named, and what is left of them in the end.

    An agent that configured the SDK already is left in charge. Raises CommandFailed where the SDK
    is not installed. A collector that does not answer in the end is given up in FLUSH_SECONDS.
    """
    if not _is_wanted() or not isinstance(trace.get_tracer_provider(), ProxyTracerProvider):
        yield
        return
    provider = _provider()
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        # A thread that may be left behind, as the SDK would wait for half a minute.
        flushing = Thread(target=provider.shutdown, daemon=True)
        flushing.start()
        await asyncio.to_thread(flushing.join, FLUSH_SECONDS)


def _is_wanted() -> bool:
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    return not disabled and any(os.environ.get(name) for name in _ENDPOINTS)


def _provider() -> Any:
    try:
        return import_module("penstock.server.otlp").provider()
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"{_ENDPOINTS[0]} names a collector, but {error.name} is not installed: "
            "pip install 'penstock[otel]'.",
            code=ExitCode.USAGE,
        ) from error
