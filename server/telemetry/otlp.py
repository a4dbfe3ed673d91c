"""A provider of spans that sends them by OTLP; imported only where a collector is named."""

import os

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

SERVICE = "penstock"


def provider() -> TracerProvider:
    """Make one from the `OTEL_...` variables; whoever asked for it must shut it down."""
    made = TracerProvider(resource=_resource(), shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


def _resource() -> Resource:
    """Name the service, unless its operator did."""
    operators = os.environ.get("OTEL_SERVICE_NAME") or (
        "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    )
    return Resource.create({} if operators else {"service.name": SERVICE})
