"""Measures the operations: units in this process, times and memory in a server of its own."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from benchmarks.peers.load_generator import LoadGenerator, request
from benchmarks.peers.processes import cores, stay_on, usage
from benchmarks.peers.rounds import latency_at
from benchmarks.product.operations import OPERATIONS, ConsoleOperation, Subjects, find_digests
from benchmarks.product.stores import FilledStore
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.server.runtime.stores import build_store, open_files, open_table
from tests.support.application import open_application
from tests.support.penstock_command import Server, start_server, token_of

CALLERS: Final = 32
_SEED: Final = 22
_WARM_UP: Final = 0.5
_QUIET: Final = {"rate_limit_per_second": 0, "access_log": False}
_ROLES: Final = (
    ("/=contributor",),
    ("/usa=contributor", "/eu=contributor"),
    ("/=reader", "/usa=contributor", "/eu=admin"),
)


class WrongData(Exception):
    """An answer holds errors, or refuses the operation."""


class Load(NamedTuple):
    """The length of a measurement: seconds an operation, different requests, metered requests."""

    seconds: float
    requests: int = 2_000
    metered: int = 20


class OperationCost(NamedTuple):
    """The cost of one operation: units and calls, processor seconds, latencies in seconds."""

    title: str
    read_units: float
    write_units: float
    calls: float
    processor: float
    p50: float
    p99: float


class ProductCost(NamedTuple):
    """The costs of all operations, and the memory of the server behind them, in bytes."""

    operations: Sequence[OperationCost]
    memory: int


class _Units(NamedTuple):
    read: float
    write: float
    calls: float


def measure_product(filled: FilledStore, load: Load, folder: Path) -> ProductCost:
    """Measure each operation, with 32 callers."""
    units = asyncio.run(_count_units(filled, load.metered))
    options = ("--port", "0", "--data-dir", str(filled.data_dir))
    unlimited = {"PENSTOCK_RATE_LIMIT_PER_SECOND": "0"}
    with start_server(folder / "log", *options, **filled.settings, **unlimited) as server:
        own, others = cores()
        os.sched_setaffinity(server.process.pid, {own})
        stay_on(others)
        found = [_measure(server, filled, one, units[one.title], load) for one in OPERATIONS]
        return ProductCost(found, usage(server.process.pid).memory)


async def _count_units(filled: FilledStore, count: int) -> dict[str, _Units]:
    settings = filled.load_settings()
    async with open_table(settings) as table, open_files(settings) as files:
        metered = MeteredTable(table)
        store = build_store(metered, settings, files)
        async with open_application(store, filled.data_dir, **_QUIET) as app:
            found = {}
            for operation in OPERATIONS:
                before = metered.units.rcu, metered.units.wcu, metered.units.calls
                for body in _draw_bodies(operation, filled.subjects, count, "units"):
                    answer = await app.client.post(
                        "/graphql", content=body, headers={"content-type": "application/json"}
                    )
                    _check(answer.content)
                after = metered.units.rcu, metered.units.wcu, metered.units.calls
                parts = [(end - begin) / count for begin, end in zip(before, after, strict=True)]
                found[operation.title] = _Units(*parts)
            return found


def _measure(
    server: Server, filled: FilledStore, operation: ConsoleOperation, units: _Units, load: Load
) -> OperationCost:
    port, pid = int(server.url.rpartition(":")[2]), server.process.pid
    bodies = _draw_bodies(operation, filled.subjects, load.requests, "load")
    tokens = _sign_tokens(filled.data_dir)
    requests = [
        request(port, "/graphql", body, {**tokens[n % CALLERS], "traceparent": _trace(n)})
        for n, body in enumerate(bodies)
    ]
    with closing(LoadGenerator(port, requests, CALLERS, every=50)) as generator:
        generator.run(min(_WARM_UP, load.seconds))
        before = usage(pid)
        loaded = generator.run(load.seconds)
        after = usage(pid)
    for body in loaded.samples.values():
        _check(body)
    processor = (after.seconds - before.seconds) / len(loaded.latencies)
    p50, p99 = (latency_at(loaded, share) for share in (0.5, 0.99))
    return OperationCost(operation.title, *units, processor, p50, p99)


def _draw_bodies(
    operation: ConsoleOperation, subjects: Subjects, count: int, purpose: str
) -> list[bytes]:
    random = Random(f"{_SEED} {operation.title} {purpose}")
    (digest,) = find_digests([operation.name]).values()
    return [
        orjson.dumps({"documentId": digest, "variables": operation.draw(random, subjects)})
        for _ in range(count)
    ]


def _sign_tokens(data_dir: Path) -> list[Mapping[str, str]]:
    tokens = [
        token_of(data_dir, *_ROLES[n % len(_ROLES)], user=f"caller-{n:02}") for n in range(CALLERS)
    ]
    return [{"Authorization": f"Bearer {token}"} for token in tokens]


def _trace(number: int) -> str:
    return f"00-{number + 1:032x}-{number + 1:016x}-01"


def _check(body: bytes) -> None:
    answer: dict[str, Any] = orjson.loads(body)
    if "errors" in answer or b'"message"' in body:
        raise WrongData(body[:500].decode())
