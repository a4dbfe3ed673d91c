"""The metrics of several processes, as any of them shows them together."""

import os

import msgspec
import pytest
from httpx import ASGITransport, AsyncClient
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import choose_encoder
from starlette.applications import Starlette

from penstock.datastore.executions.claims.claims import ExecutionQueue
from penstock.datastore.jobs.jobs import JobQueue
from penstock.server.core.siblings import Siblings
from penstock.server.telemetry.gathered_metrics import ProcessMetrics, encode_metrics
from penstock.server.telemetry.metrics import Metrics


def metrics_of(index: int, seconds: float) -> tuple[int, bytes]:
    registry = CollectorRegistry()
    Counter("calls", "Calls.", ("method",), registry=registry).labels("get").inc(index + 1)
    Histogram("seconds", "Time.", registry=registry, buckets=(1, 10)).observe(seconds)
    return index, encode_metrics(registry)


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_each_sample_is_labelled_with_its_process_and_none_are_added_up(accept: str) -> None:
    encode, _ = choose_encoder(accept)
    shown = encode(ProcessMetrics([metrics_of(0, 0.5), metrics_of(1, 10)])).decode()
    assert shown.count("# TYPE seconds histogram\n") == 1
    lines = [
        line for line in shown.splitlines() if not line.startswith("#") and "_created" not in line
    ]
    assert [line for line in lines if line.startswith("calls")] == [
        'calls_total{method="get",process="0"} 1.0',
        'calls_total{method="get",process="1"} 2.0',
    ]
    assert [line for line in lines if line.startswith("seconds_bucket")] == [
        'seconds_bucket{le="1.0",process="0"} 1.0',
        'seconds_bucket{le="10.0",process="0"} 1.0',
        'seconds_bucket{le="+Inf",process="0"} 1.0',
        'seconds_bucket{le="1.0",process="1"} 0.0',
        'seconds_bucket{le="10.0",process="1"} 1.0',
        'seconds_bucket{le="+Inf",process="1"} 1.0',
    ]


async def test_a_scrape_of_any_process_shows_the_queues_that_the_first_reads_for_it() -> None:
    siblings = Siblings.create(2)
    first, second = Metrics(siblings), Metrics(msgspec.structs.replace(siblings, index=1))

    async def read() -> tuple[ExecutionQueue, JobQueue]:
        return ExecutionQueue(3, 1, 42.0), JobQueue({}, 0.0)

    for metrics in (first, second):
        metrics.count_queues(read)
    try:
        async with (
            first.share_with_siblings(),
            AsyncClient(
                transport=ASGITransport(Starlette(routes=[second.route()])),
                base_url="http://localhost",
            ) as client,
        ):
            text = (await client.get("/metrics")).text
    finally:
        os.close(siblings.rates)
    found = [line for line in text.splitlines() if line.startswith("penstock_queue_age")]
    assert found == ['penstock_queue_age_seconds{process="0"} 42.0']
