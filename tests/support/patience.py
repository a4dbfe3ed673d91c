"""The patience of tests: they wait for conditions, and a bound only ends a test that hangs."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Final

HUNG_SECONDS: Final = 540.0
"""The time after which a test counts as hung; a busy machine takes twenty times longer."""

PAUSE_SECONDS: Final = 0.01

LIMITS: Final = (
    # For what answers slowly: on a busy machine everything does.
    "penstock.datastore.access.kms_vault.SECONDS",
    "penstock.datastore.audio.assumed_roles.STS_TIMEOUT_SECONDS",
    "penstock.datastore.audio.endpoint_rules.LOOKUP_SECONDS",
    "penstock.datastore.audio.user_buckets.READ_SECONDS",
    "penstock.datastore.dynamodb.protocol.CONNECT_SECONDS",
    "penstock.datastore.dynamodb.protocol.READ_SECONDS",
    "penstock.datastore.objects.s3_client.CONNECT_SECONDS",
    "penstock.datastore.sqlite.group_commit.TURN_SECONDS",
    "penstock.datastore.sqlite.table.BUSY_SECONDS",
    "penstock.server.auth.jwks.FETCH_SECONDS",
    "penstock.server.lineage.delivery.FLUSH_SECONDS",
    "penstock.server.edge.health.READY_SECONDS",
    "penstock.server.runtime.supervisor.GRACE_SECONDS",
    "penstock.server.runtime.worker_pool.HEARING_SECONDS",
    "penstock.server.telemetry.span_export.FLUSH_SECONDS",
    "penstock.server.telemetry.work_metrics.TIMEOUT_SECONDS",
    # For turns of jobs, which a busy machine would cut in two.
    "penstock.datastore.audio.import_job.MAX_TURN_SECONDS",
    "penstock.datastore.ngsi.retention.sample_deletion.MAX_TURN_SECONDS",
    # For what a process remembers, while a test counts what it reads.
    "penstock.datastore.quotas.quotas.LOOK_SECONDS",
    "penstock.server.telemetry.work_metrics.QUEUES_SECONDS",
)
"""The product's limits in seconds that would pass by themselves in a test that is slow.

Tests of such a limit set their own, or move the time.
"""


def find_limits() -> Iterator[tuple[ModuleType, str]]:
    """Yield the module and the name of each limit, which is HUNG_SECONDS in tests."""
    for limit in LIMITS:
        module, _, name = limit.rpartition(".")
        yield import_module(module), name


async def until(holds: Callable[[], object | Awaitable[object]]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(HUNG_SECONDS):
        while not await _value(holds):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(PAUSE_SECONDS)


async def _value(holds: Callable[[], object | Awaitable[object]]) -> object:
    found = holds()
    return await found if isinstance(found, Awaitable) else found


def wait_until(holds: Callable[[], object]) -> None:
    """Wait, outside of an event loop, until the condition holds."""
    end = time.monotonic() + HUNG_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(PAUSE_SECONDS)
