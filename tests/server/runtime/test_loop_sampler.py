"""Samples of the event loop tell who holds it, and for how long."""

import asyncio
import signal
import socket
import threading
import time
from collections import Counter
from typing import Any

import uvloop

from penstock.server.connections.request_watcher import ServedRequest, current_request
from penstock.server.runtime.loop_sampler import SAMPLE_SECONDS, sample_event_loop

STEP = 0.001
SLACK = 10 * SAMPLE_SECONDS
"""More than what is between two samples, also where the system looks at its timers seldom."""


class Samples(Counter[str]):
    """The seconds that were noted of each caller."""

    def note(self, caller: str, seconds: float) -> None:
        self[caller] += seconds  # type: ignore[assignment]


def serve(caller: str | None) -> ServedRequest:
    """Serve a request of a caller in this context."""
    request = ServedRequest()
    request.caller = caller
    current_request.set(request)
    return request


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        hash("word")


async def compute_in_steps(caller: str | None, seconds: float) -> None:
    """Compute as a task does, between those of others."""
    serve(caller)
    for _ in range(round(seconds / STEP)):
        compute(STEP)
        await asyncio.sleep(0)


def run(*works: Any) -> None:
    async def run_all() -> None:
        await asyncio.gather(*works)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run_all())


def test_the_time_of_each_caller_is_noted() -> None:
    samples = Samples()
    with sample_event_loop(samples.note):
        run(
            compute_in_steps("ann", 0.6),
            compute_in_steps("bob", 0.2),
            compute_in_steps(None, 0.2),
        )
    assert set(samples) <= {"ann", "bob"}
    assert 0.3 < samples["ann"] < 1.0
    assert samples["bob"] < samples["ann"]


def test_long_work_in_one_piece_is_noted_whole() -> None:
    samples = Samples()

    async def sort_long() -> None:
        serve("ann")
        began = time.thread_time()
        sorted(range(3_000_000, 0, -1), key=str)
        compute(SLACK)
        took.append(time.thread_time() - began)

    took: list[float] = []
    with sample_event_loop(samples.note):
        run(sort_long())
    assert took[0] - SLACK < samples["ann"] < took[0] + SLACK


def test_what_goes_on_after_a_request_and_what_other_threads_do_is_nobodys() -> None:
    samples = Samples()

    async def go_on() -> None:
        serve("ann").caller = None
        compute(0.1)
        serve("bob")
        await asyncio.to_thread(compute, 0.1)

    with sample_event_loop(samples.note):
        run(go_on())
    assert samples["ann"] == 0
    assert samples["bob"] < 0.1 + SLACK


class ComputingProtocol(asyncio.Protocol):
    """Computes for each piece of data that comes, and ends with the connection."""

    def __init__(self) -> None:
        self.ended = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        compute(0.1)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set_result(None)


def test_what_a_shared_connection_receives_is_not_its_openers() -> None:
    samples = Samples()

    async def receive() -> None:
        serve("ann")
        one, other = socket.socketpair()
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(ComputingProtocol, sock=one)
        other.send(b"a")
        await asyncio.sleep(0)
        other.close()
        await protocol.ended
        loop.call_soon(compute, 0.1)
        await asyncio.sleep(0)

    with sample_event_loop(samples.note):
        run(receive())
    assert samples["ann"] < SLACK


def test_no_sample_is_taken_after_the_end_nor_from_another_thread() -> None:
    samples = Samples()
    with sample_event_loop(samples.note):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert signal.getsignal(signal.SIGPROF) == signal.SIG_IGN

    def sample() -> None:
        with sample_event_loop(samples.note):
            serve("ann")
            compute(0.05)

    thread = threading.Thread(target=sample)
    thread.start()
    thread.join()
    assert not samples
