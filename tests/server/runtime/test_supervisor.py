"""A server of several processes, which clients cannot distinguish from a single process."""

import asyncio
import os
import re
import signal
import socket
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx
import pytest

from penstock.datastore.periodic import cancel_tasks
from penstock.server.core.command_output import CommandFailed
from penstock.server.core.siblings import Siblings
from penstock.server.runtime import supervisor as supervisor_module
from penstock.server.runtime.listeners import Listeners
from penstock.server.runtime.supervisor import Supervisor
from penstock.server.settings.settings import Settings
from tests.support.graphql_client import CREATE_GROUP
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import Server, start_server, token_of
from tests.support.server_process import VERIFY_TLS
from tests.support.warm_children import children_of

pytestmark = pytest.mark.runs_together("processes")

BURST = 200
RUNS_UNTIL_COMPILED = 2
ASK = {"query": "{ viewer { userId } }"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("processes") / "data"


@pytest.fixture
def server(data_dir: Path, tmp_path: Path) -> Iterator[Server]:
    arguments = ("--workers", "2", "--port", "0", "--data-dir", str(data_dir), "--no-seed")
    limits = {"PENSTOCK_RATE_LIMIT_PER_SECOND": "0.001", "PENSTOCK_RATE_LIMIT_BURST": f"{BURST}"}
    with start_server(tmp_path / "log", *arguments, **limits) as server:
        yield server


def send_query(server: Server, data_dir: Path, user: str, body: object = ASK) -> httpx.Response:
    """Send a request over a new connection, which any of the processes may accept."""
    headers = {"authorization": f"Bearer {token_of(data_dir, '/=admin', user=user)}"}
    url = f"{server.url}/graphql"
    return httpx.post(
        url, json=body, headers=headers, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS
    )


def operation_counts(server: Server) -> Counter[str]:
    """Return the number of operations that each process has answered, from the metrics."""
    found = re.findall(r'penstock_operations_total\{.*process="(\d)".*\} (\d+)', metrics(server))
    total: Counter[str] = Counter()
    for process, count in found:
        total[process] += int(count)
    return total


def metrics(server: Server) -> str:
    url = f"{server.url}/metrics"
    return httpx.get(url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS).text


def processes_told(server: Server) -> set[str]:
    return set(re.findall(r'process_start_time_seconds\{process="(\d)"\}', metrics(server)))


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        # It is gone, or goes between the opening of the file and the reading.
        return False
    return state != "Z"


def test_a_caller_has_one_allowance_and_metrics_tell_of_every_process(
    server: Server, data_dir: Path
) -> None:
    readers = children_of(server.process.pid)
    for other in readers:
        # One process answers while the other is stopped; others pay for the document and its plan.
        os.kill(other, signal.SIGSTOP)
        for _ in range(RUNS_UNTIL_COMPILED):
            assert send_query(server, data_dir, f"reader {other}").status_code == 200
        os.kill(other, signal.SIGCONT)
    statuses = Counter(send_query(server, data_dir, "ann").status_code for _ in range(BURST + 10))
    assert statuses == {200: BURST, 429: 10}
    # A process that is too busy to tell its numbers is left out of one answer.
    wait_until(lambda: processes_told(server) == {"0", "1"})
    counted = BURST + 10 + RUNS_UNTIL_COMPILED * len(readers)
    wait_until(lambda: sum(operation_counts(server).values()) == counted)
    assert {*operation_counts(server)} == {"0", "1"}
    assert send_query(server, data_dir, "bob").status_code == 200


def test_a_process_that_is_killed_is_replaced_and_the_others_serve_on(
    server: Server, data_dir: Path
) -> None:
    first, second = children_of(server.process.pid)
    made = {"query": CREATE_GROUP, "variables": {"input": {"path": "/kept"}}}
    assert send_query(server, data_dir, "ann", made).json()["data"]["createGroup"]["group"]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not alive(first))
    read = {"query": '{ group(path: "/kept") { path } }'}
    for _ in range(5):
        answer = send_query(server, data_dir, "ann", read).json()
        assert answer == {"data": {"group": {"path": "/kept"}}}
    wait_until(lambda: len({*children_of(server.process.pid)} - {first, second}) == 1)
    wait_until(lambda: processes_told(server) == {"0", "1"})
    assert server.end(signal.SIGTERM) == 0
    assert not alive(second)


def test_processes_end_with_the_one_that_started_them(server: Server) -> None:
    both = children_of(server.process.pid)
    server.process.kill()
    wait_until(lambda: not any(alive(one) for one in both))


async def test_a_process_that_cannot_start_is_told_of_and_the_others_are_ended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data").write_text("a file, and no directory")
    settings = Settings.load(data_dir=tmp_path / "data", seed=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        siblings = Siblings.create(2)
        supervisor = Supervisor(settings, Listeners(listener), siblings)
        with pytest.raises(CommandFailed, match=r"Process [01] of the server did not start"):
            await supervisor.start()
        await supervisor.stop()
        assert [one.returncode for one in supervisor._processes.values()] == [1, 1]
        os.close(siblings.rates)
    assert "penstock: " in capfd.readouterr().err


async def test_a_process_that_cannot_be_started_for_a_while_is_replaced_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class DeadProcess:
        async def wait(self) -> int:
            return 1

    class LivingProcess:
        async def wait(self) -> int:
            running.set()
            await asyncio.Event().wait()
            return 0

    async def start(self: Supervisor, index: int) -> None:
        if not tries:
            tries.append(index)
            raise BlockingIOError("Resource temporarily unavailable")
        self._processes[index] = cast("Process", LivingProcess())

    running, tries = asyncio.Event(), list[int]()
    monkeypatch.setattr(supervisor_module, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(Supervisor, "_start", start)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        siblings = Siblings.create(1)
        supervisor = Supervisor(Settings.load(seed=False), Listeners(listener), siblings)
        supervisor._processes[0] = cast("Process", DeadProcess())
        watching = asyncio.create_task(supervisor.run())
        await asyncio.wait_for(running.wait(), HUNG_SECONDS)
        await cancel_tasks([watching])
        os.close(siblings.rates)
    said = "process 0 of the server cannot be started yet: Resource temporarily unavailable"
    assert said in [line.message for line in caplog.records]
