"""Gathers the metrics of all processes of a server, in any of them."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from prometheus_client import Metric
from prometheus_client.registry import Collector

from penstock.server.core.siblings import Siblings

TIMEOUT_SECONDS: Final = 5.0
LABEL: Final = "process"

logger = logging.getLogger("penstock.metrics")


class _Family(msgspec.Struct, frozen=True, array_like=True):
    name: str
    documentation: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


class ProcessMetrics(Collector):
    """The metrics of several processes, each sample labelled with its process number.

    They are not added up: a process that was replaced starts at zero again, so that a sum would
    fall.
    """

    def __init__(self, encoded: Iterable[tuple[int, bytes]]) -> None:
        self._metrics: dict[str, Metric] = {}
        for index, families in encoded:
            for family in msgspec.msgpack.decode(families, type=list[_Family]):
                self._add(index, family)

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics.values()

    def _add(self, index: int, family: _Family) -> None:
        metric = self._metrics.get(family.name)
        if metric is None:
            metric = Metric(family.name, family.documentation, family.type)
            self._metrics[family.name] = metric
        for name, labels, value in family.samples:
            metric.add_sample(name, {LABEL: str(index), **labels}, value)


def encode_metrics(registry: Collector) -> bytes:
    """Encode the metrics of this process for its siblings."""
    return msgspec.msgpack.encode(
        [
            _Family(
                metric.name,
                metric.documentation,
                metric.type,
                [(sample.name, sample.labels, sample.value) for sample in metric.samples],
            )
            for metric in registry.collect()
        ]
    )


async def gather_metrics(registry: Collector, siblings: Siblings) -> ProcessMetrics:
    """Fetch the metrics of every sibling; one that does not answer is left out."""
    others = [index for index in range(siblings.count) if index != siblings.index]
    answers = await asyncio.gather(*(_fetch_metrics(siblings, index) for index in others))
    found = [(index, each) for index, each in zip(others, answers, strict=True) if each is not None]
    return ProcessMetrics(sorted([(siblings.index, encode_metrics(registry)), *found]))


@asynccontextmanager
async def share_metrics(
    registry: Collector, siblings: Siblings, refresh: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Answer the siblings' requests for metrics; `refresh` is called before each answer."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await refresh()
        writer.write(encode_metrics(registry))
        writer.close()

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(siblings.address_of(siblings.index))
    server = await asyncio.start_unix_server(answer, sock=listener)
    async with server:
        yield


def _connect(address: str) -> socket.socket:
    """Connect a socket by Python itself: libuv does not support the abstract namespace."""
    connection = socket.socket(socket.AF_UNIX)
    connection.setblocking(False)
    try:
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


async def _fetch_metrics(siblings: Siblings, index: int) -> bytes | None:
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            connection = _connect(siblings.address_of(index))
            reader, writer = await asyncio.open_unix_connection(sock=connection)
            try:
                return await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        logger.warning("process %d did not send its metrics", index)
        return None
