"""Work of requests takes turns, is paid by processor time, and ends when nobody waits for it.

No other work of a size that callers choose runs in the threads that everybody shares.
"""

import ast
import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.datastore import interruptible_work
from penstock.datastore.access.work import CPU_SECONDS, WorkPayer
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.datastore.request_threads import MOST_SECONDS, run_in_request_thread
from tests.support.parsed_modules import parse_naming
from tests.support.patience import until
from tests.support.work_account import Account

PRODUCT = Path(__file__).parents[2]
FLOORS = ("server", "schema", "resolvers", "datastore", "transform", "formula", "graphql_jit")
FILES = "reads or writes a file"
START = "happens once, when a process or a connection to a service begins or ends"
MOVE = "belongs to a command, which serves no requests"
WORKER = "belongs to the execution of a worker, which is no request"
ALLOWED = {
    "datastore/audio/sources.py": START,
    "datastore/audio/transcoding/ffmpeg.py": "has threads of its own, for which callers take turns",
    "datastore/aws/session.py": START,
    "datastore/datasets/large_files.py": FILES,
    "datastore/dynamodb/raw_client.py": START,
    "datastore/executions/workers/row_engine.py": WORKER,
    "datastore/executions/workers/run_one.py": WORKER,
    "datastore/input_files/convert.py": FILES,
    "datastore/kept_rows/part_files.py": FILES,
    "datastore/kept_rows/part_list.py": "goes through 100,000 parts at most; callers pay by number",
    "datastore/moving/blobs.py": MOVE,
    "datastore/moving/export.py": MOVE,
    "datastore/moving/import_.py": MOVE,
    "datastore/ngsi/events.py": "packs a file whose size the server chooses",
    "datastore/ngsi/intake/threads.py": "has a thread of its own; senders pay by size before",
    "datastore/objects/directory.py": FILES,
    "datastore/objects/local_copies.py": FILES,
    "datastore/sqlite/group_commit.py": START,
    "datastore/sqlite/table.py": START,
    "schema/engine/documents.py": "uses the thread of the engine; callers pay by size before",
    "schema/engine/engine.py": "is the thread of the engine; callers pay by size before",
    "server/commands/worker.py": START,
    "server/lineage/senders.py": FILES,
    "server/runtime/core_engine.py": WORKER,
    "server/runtime/movable_stores.py": MOVE,
    "server/runtime/run_server.py": START,
    "server/telemetry/span_export.py": START,
}
SHARED_THREADS = {"to_thread", "run_in_executor", "run_sync", "run_in_threadpool"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The processor time of threads, which only a test lets pass."""
    now = [0.0]
    monkeypatch.setattr(interruptible_work, "thread_time", lambda: now[0])
    return now


class HeldWork:
    """Work of many steps, of which each waits in its thread until it is released."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.steps = 0
        self.released = threading.Event()

    def of(self, user: str) -> Callable[[InterruptibleWork], str]:
        def hold(work: InterruptibleWork) -> str:
            self.begun.append(user)
            self.released.wait()
            for _ in range(3):
                work.require_wanted()
                self.steps += 1
            return user

        return hold


async def test_one_caller_leaves_a_thread_to_others() -> None:
    work, users = HeldWork(), ["eve"] * 8 + ["bob"]
    running = [
        asyncio.create_task(run_in_request_thread(work.of(user), WorkPayer(user))) for user in users
    ]
    await until(lambda: len(work.begun) == 2)
    assert sorted(work.begun) == ["bob", "eve"]
    work.released.set()
    assert await asyncio.gather(*running) == users


async def test_work_whose_caller_goes_ends_with_its_next_step_and_is_paid(
    clock: list[float],
) -> None:
    work, account = HeldWork(), Account()
    running = asyncio.create_task(run_in_request_thread(work.of("eve"), WorkPayer("eve", account)))
    await until(lambda: work.begun == ["eve"])
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()
    clock[0] = 100 * CPU_SECONDS
    work.released.set()
    await until(lambda: account.owed == 100)
    assert work.steps == 0
    assert await run_in_request_thread(lambda _: "next", WorkPayer("eve")) == "next"


async def test_work_that_fails_is_paid_beyond_what_was_paid_before(clock: list[float]) -> None:
    account = Account()

    def fail(_: InterruptibleWork) -> None:
        clock[0] += 100 * CPU_SECONDS
        raise ValueError("damaged")

    for prepaid, owed in ((0, 100), (30, 170), (1_000, 170)):
        with pytest.raises(ValueError, match="damaged"):
            await run_in_request_thread(fail, WorkPayer("eve", account, prepaid))
        assert (account.taken, account.owed) == (0, owed)


async def test_work_ends_after_a_minute_of_processor_time(clock: list[float]) -> None:
    account, steps = Account(), list[int]()

    def go_on(work: InterruptibleWork) -> None:
        for step in range(10**9):
            work.require_wanted()
            steps.append(step)
            clock[0] += MOST_SECONDS / 4

    with pytest.raises(LimitExceeded) as caught:
        await run_in_request_thread(go_on, WorkPayer("eve", account))
    assert caught.value.maximum == MOST_SECONDS
    assert len(steps) == 5
    assert account.owed == round(1.25 * MOST_SECONDS / CPU_SECONDS)


def test_work_of_requests_is_in_no_thread_that_everybody_shares() -> None:
    sharing = {
        str(file.relative_to(PRODUCT))
        for floor in FLOORS
        for file in (PRODUCT / floor).rglob("*.py")
        if (module := parse_naming(file, SHARED_THREADS))
        and SHARED_THREADS & set(_names_in(module))
    }
    assert sharing == set(ALLOWED)


def _names_in(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
