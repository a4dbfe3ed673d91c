"""A provider of spans that sends them by OTLP; imported only if a collector is configured."""

import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SERVICE = "penstock"


def provider() -> TracerProvider:
    """Create one from the `OTEL_...` variables; the caller must shut it down."""
    made = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


def _resource() -> Resource:
    """Name the service, unless the operator named it."""
    operators = os.environ.get("OTEL_SERVICE_NAME") or (
        "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    )
    return Resource.create({} if operators else {"service.name": SERVICE})
