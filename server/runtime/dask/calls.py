"""Calls on a Dask cluster, whose results come in order."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import uuid4

from distributed import Client, Future

from penstock.datastore.objects.port import Files
from penstock.server.runtime.dask.transport import SourceUrl, open_call, pack_call, unpack_result

FEWEST_AHEAD: Final = 4
URL_SECONDS: Final = 24 * 3600
"""The time for which a machine can read and upload the files of a call."""

SILENCE_SECONDS: Final = 60.0
"""The wait for a result after which the scheduler is asked for a sign of life, and for that."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClusterCalls:
    """Calls of functions on the machines of a cluster."""

    client: Client
    silence: float = SILENCE_SECONDS

    async def results_in_order(
        self, function: Callable[..., T], calls: Iterable[tuple[Any, ...]]
    ) -> AsyncGenerator[T]:
        """Yield the results of calls on the cluster in order, with a few calls ahead of the reader.

        If a machine is lost, another one repeats its calls. Raises TimeoutError if the scheduler is
        silent: one that hangs keeps its connections.
        """
        threads = await self._ask_threads()
        ahead = max(FEWEST_AHEAD, 2 * sum(threads.values()))
        waiting: deque[Future[bytes]] = deque()
        try:
            for call in calls:
                waiting.append(self._submit(function, *call))
                if len(waiting) > ahead:
                    yield unpack_result(await self._wait_for(waiting.popleft()))
            while waiting:
                yield unpack_result(await self._wait_for(waiting.popleft()))
        finally:
            await self.client.cancel(list(waiting))

    async def _wait_for(self, result: Future[bytes]) -> bytes:
        waiting: asyncio.Future[bytes] = asyncio.ensure_future(result)
        try:
            while not (await asyncio.wait([waiting], timeout=self.silence))[0]:
                await self._ask_threads()
            return await waiting
        finally:
            waiting.cancel()

    async def _ask_threads(self) -> Mapping[str, int]:
        """The threads of each machine, which is also a sign of life of the scheduler."""
        async with asyncio.timeout(self.silence):
            found: Mapping[str, int] = await self.client.nthreads()
        return found

    def _submit(self, function: Callable[..., object], *arguments: object) -> Future[bytes]:
        key = f"{function.__name__}-{uuid4()}"
        return self.client.submit(open_call, pack_call(function, *arguments), key=key)


async def sign_source(files: Files, key: str) -> SourceUrl:
    """The URL by which machines read a stored file."""
    return SourceUrl((await files.presign_download(key, expires_in=URL_SECONDS)).url)
