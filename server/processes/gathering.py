"""The metrics of every process of a server, whichever of them is asked."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Final, Protocol

import msgspec
from prometheus_client import Metric

from server.processes.siblings import Siblings

SECONDS: Final = 1.0
LABEL: Final = "process"

logger = logging.getLogger("penstock.metrics")


class Registry(Protocol):
    """What has metrics: a registry, or several together."""

    def collect(self) -> Iterable[Metric]:
        """Give them as they are now."""


class _Family(msgspec.Struct, frozen=True, array_like=True):
    name: str
    documentation: str
    type: str
    samples: list[tuple[str, dict[str, str], float]]


class Together:
    """Metrics of several processes, each sample labelled with the number of its process.

    They are not added up: a process that is replaced begins at zero, as only its own series may.
    """

    def __init__(self, told: Iterable[tuple[int, bytes]]) -> None:
        self._metrics: dict[str, Metric] = {}
        for index, families in told:
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


def told_of(registry: Registry) -> bytes:
    """The metrics of this process, as they are told to its siblings."""
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


async def gathered(registry: Registry, siblings: Siblings) -> Together:
    """Ask every sibling for its metrics; one that does not answer is left out."""
    others = [index for index in range(siblings.count) if index != siblings.index]
    told = await asyncio.gather(*(_asked(siblings, index) for index in others))
    found = [(index, said) for index, said in zip(others, told, strict=True) if said is not None]
    return Together(sorted([(siblings.index, told_of(registry)), *found]))


@asynccontextmanager
async def told_to_siblings(registry: Registry, siblings: Siblings) -> AsyncIterator[None]:
    """Answer whichever sibling is asked for metrics."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(told_of(registry))
        writer.close()

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(siblings.address_of(siblings.index))
    server = await asyncio.start_unix_server(answer, sock=listener)
    async with server:
        yield


def _connected(address: str) -> socket.socket:
    """Connect without waiting: libuv knows no names of the abstract space, Python does."""
    asking = socket.socket(socket.AF_UNIX)
    asking.setblocking(False)
    try:
        asking.connect(address)
    except OSError:
        asking.close()
        raise
    return asking


async def _asked(siblings: Siblings, index: int) -> bytes | None:
    try:
        async with asyncio.timeout(SECONDS):
            asking = _connected(siblings.address_of(index))
            reader, writer = await asyncio.open_unix_connection(sock=asking)
            try:
                return await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        logger.warning("process %d does not tell its metrics", index)
        return None
