"""A worker process of a server, which reads what it shall do from its standard input.

The first line holds the settings and its name. Each further line wakes it; the end tells it to
stop, also when the server was killed.
"""

import asyncio
import signal
from typing import Any

import msgspec
from uvloop import new_event_loop

from penstock.server.logs import configure
from penstock.server.opening import open_files, open_table, store_over
from penstock.server.orders import first_line, further_lines
from penstock.server.settings import Settings
from penstock.server.workers.engines import engine_of
from penstock.server.workers.working import Worker


class Orders(msgspec.Struct, frozen=True):
    """What a worker process is told at its start; `poll` and `idle` are in seconds."""

    worker: str
    settings: dict[str, Any]
    poll: float
    idle: float


async def _work(orders: Orders, settings: Settings) -> None:
    async with open_table(settings) as table, open_files(settings) as files:
        runner = store_over(table, settings, files).runner(orders.worker, engine_of(settings))
        worker = Worker(runner, poll=orders.poll, idle=orders.idle)
        listening = asyncio.create_task(_listen(worker))
        await worker.work()
        listening.cancel()


async def _listen(worker: Worker) -> None:
    """Obey the lines of standard input; its end, and SIGTERM, end the worker."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, worker.stop)
    lines = await further_lines()
    while await lines.readline():
        worker.wake()
    worker.stop()


def main() -> None:
    orders = first_line(Orders)
    settings = Settings.load(**orders.settings)
    configure(settings.log_format)
    with asyncio.Runner(loop_factory=new_event_loop) as loop:
        loop.run(_work(orders, settings))


if __name__ == "__main__":
    main()
