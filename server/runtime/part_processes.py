"""The processes that transform parts of an input, as the worker sees them."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

import msgspec

from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.workers.row_engine import EngineStep
from penstock.server.runtime.child_process import start_process
from penstock.server.runtime.part_process import (
    SIZE_BYTES,
    PartOrder,
    PartStep,
    ProgramRecipe,
    pack_frame,
    unpack_size,
)

MODULE: Final = "penstock.server.runtime.part_process"


class PartProcess:
    """A process that transforms the parts that it is sent, one after another."""

    def __init__(self, process: Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process has no pipes")
        self._process = process
        self._orders = process.stdin
        self._results = process.stdout

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def send(self, order: PartOrder) -> None:
        """Let it transform a part after those that it has."""
        self._orders.write(pack_frame(order))

    async def read_steps(self) -> AsyncGenerator[EngineStep]:
        """Yield the results of its next part, to their end; raises Unavailable if it ends."""
        is_last = False
        while not is_last:
            try:
                size = await self._results.readexactly(SIZE_BYTES)
                data = await self._results.readexactly(unpack_size(size))
            except asyncio.IncompleteReadError:
                code = await self._process.wait()
                message = f"A process that transforms parts of the input ended ({code})."
                raise Unavailable(message) from None
            step = msgspec.msgpack.decode(data, type=PartStep)
            is_last = step.is_last
            yield EngineStep(step.written, step.ending)

    async def end(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            self._process.kill()
        self._orders.close()
        # Without the rest of its output, the end of it would not be seen.
        await self._process.communicate()


@asynccontextmanager
async def start_part_processes(
    number: int, recipe: ProgramRecipe
) -> AsyncIterator[Sequence[PartProcess]]:
    """Start processes for the parts of one input; they end with the context."""
    orders = pack_frame(recipe)
    async with AsyncExitStack() as stack:
        started = (stack.enter_async_context(_start_part_process(orders)) for _ in range(number))
        yield [await one for one in started]


@asynccontextmanager
async def _start_part_process(orders: bytes) -> AsyncIterator[PartProcess]:
    process = PartProcess(await start_process(MODULE, orders, answers=True))
    try:
        yield process
    finally:
        await process.end()
