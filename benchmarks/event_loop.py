"""Measures the delays of the event loop that the embedded table's work causes."""

import argparse
import asyncio
import gc
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import uvloop

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Item, Key, Operation, Put, Query, Update

MARK = "event loop"
SECONDS = 2.0
TICK = 0.001
ROWS = 8_000
AT_ONCE = 4

_SCHEDULED = Path("/proc/thread-self/schedstat")

Work = Callable[[SqliteTable], Awaitable[object]]


class Delays(NamedTuple):
    """Delays of a tick every millisecond, in milliseconds, and the calls done meanwhile.

    `own` is the longest delay that our own threads can have caused: the time they ran while a tick
    waited, less the time it waited for a processor that ran other processes. `processor` is the
    time of the processor for a call.
    """

    median: float
    worst: float
    own: float
    calls: int
    processor: float


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.event_loop", description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each measurement")
    parser.add_argument("--write-to", type=Path, metavar="FILE", help="be the second process")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if options.write_to:
            runner.run(_write_until_ended(options.write_to))
        else:
            # Garbage collections scan all objects that a server has loaded.
            import_module("penstock.server.app")
            usual = runner.run(measure_delays(options.seconds))
            gc.collect()
            gc.freeze()
            frozen = runner.run(measure_delays(options.seconds))
            show_tables({MARK: below_machine(table(usual, frozen))}, options.write)


def table(usual: Mapping[str, Delays], frozen: Mapping[str, Delays]) -> str:
    """The delays as a Markdown table."""
    head = "work | calls | ms of processor each | median, ms | worst, ms | own, ms"
    rows = [
        f"{name} | {_format_calls(late)} | {late.median:.1f} | {late.worst:.1f} "
        f"| {late.own:.1f} | {frozen[name].own:.1f}"
        for name, late in usual.items()
    ]
    return format_table(f"{head} | own, frozen, ms", rows)


def _format_calls(late: Delays) -> str:
    return f"{late.calls:,} | {late.processor:.2f}" if late.calls else " | "


async def measure_delays(seconds: float) -> dict[str, Delays]:
    """Keep a file's table busy with one kind of work after another, then with all at once."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "table.db"
        async with _filled_table(path) as opened:
            found = {"nothing": await _delays(opened, [], seconds)}
            for name, work in WORK.items():
                found[f"{name}, one at a time"] = await _delays(opened, [work], seconds)
                found[f"{name}, {AT_ONCE} at once"] = await _delays(
                    opened, [work] * AT_ONCE, seconds
                )
            everything = [*WORK.values()] * AT_ONCE
            found["all of these at once"] = await _delays(opened, everything, seconds)
            with _second_process(path):
                found["all, and another process writing"] = await _delays(
                    opened, everything, seconds
                )
    return found


@asynccontextmanager
async def _filled_table(path: Path) -> AsyncIterator[SqliteTable]:
    opened = SqliteTable.open(path, busy_seconds=60)
    try:
        await opened.create()
        for start in range(0, ROWS, 100):
            await opened.transact([Put(_row(n)) for n in range(start, start + 100)])
        yield opened
    finally:
        await opened.close()


def _row(number: int) -> Item:
    """A row of about 320 bytes, like one with a larger tag set."""
    return {"pk": "list", "sk": f"{number:06}", "tags": {f"key {n}": "v" * 32 for n in range(7)}}


async def _read_pages(table: SqliteTable) -> None:
    page = await table.query(Query(partition="list"))
    assert page.last is not None, "the page has less than 1 MB"


async def _get_keys(table: SqliteTable) -> None:
    batch = await table.get([Key("list", f"{number:06}") for number in range(100)])
    assert len(batch.items) == 100


async def _transact(table: SqliteTable) -> None:
    await table.transact(_operations("here"))


def _operations(name: str) -> list[Operation]:
    puts: list[Operation] = [Put({**_row(number), "pk": name}) for number in range(50)]
    counts = [Update(key=Key(name, f"count {number}"), add={"n": 1}) for number in range(50)]
    return [*puts, *counts]


WORK: Mapping[str, Work] = {
    "pages of 1 MB": _read_pages,
    "gets of 100 keys": _get_keys,
    "transactions of 100 operations": _transact,
}


async def _delays(table: SqliteTable, works: Sequence[Work], seconds: float) -> Delays:
    """Tick while each of the works is repeated."""
    until = time.perf_counter() + seconds
    ticker, begun = asyncio.create_task(_ticks(until)), time.process_time()
    calls = sum(await asyncio.gather(*(_repeat(work, table, until) for work in works)))
    late, own = zip(*await ticker, strict=True)
    each = (time.process_time() - begun) / max(calls, 1)
    worst, longest = 1_000 * max(late), 1_000 * max(own)
    return Delays(1_000 * median(late), worst, longest, calls, 1_000 * each)


async def _repeat(work: Work, table: SqliteTable, until: float) -> int:
    calls = 0
    while time.perf_counter() < until:
        await work(table)
        calls += 1
    return calls


async def _ticks(until: float) -> list[tuple[float, float]]:
    """The delay of each tick, and the part that our own threads can have caused, in seconds."""
    ticks: list[tuple[float, float]] = []
    now = time.perf_counter()
    while now < until:
        due, ran, waited = now + TICK, time.process_time(), _seconds_waited()
        await asyncio.sleep(TICK)
        now = time.perf_counter()
        late = max(0.0, now - due)
        own = min(late, time.process_time() - ran, max(0.0, late - (_seconds_waited() - waited)))
        ticks.append((late, own))
    return ticks


def _seconds_waited() -> float:
    """Seconds that this thread waited for a processor; 0 on systems without that count."""
    try:
        return int(_SCHEDULED.read_text().split()[1]) / 1e9
    except FileNotFoundError:
        return 0.0


@contextmanager
def _second_process(path: Path) -> Iterator[None]:
    """Another process that keeps writing to the same file."""
    command = [sys.executable, "-m", "benchmarks.event_loop", "--write-to", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        try:
            yield
            if child.poll() is not None:
                raise RuntimeError("the second process ended too early")
        finally:
            child.terminate()


async def _write_until_ended(path: Path) -> None:
    opened = SqliteTable.open(path, busy_seconds=60)
    await opened.transact(_operations("elsewhere"))
    print("writing", flush=True)
    while True:
        await opened.transact(_operations("elsewhere"))


if __name__ == "__main__":
    main()
