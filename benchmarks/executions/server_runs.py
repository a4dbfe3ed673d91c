"""One large file through a running server: with one core, with all, and on Dask with two machines.

The outputs are compared byte for byte, by a digest.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from distributed import Client

from benchmarks.executions.one_core import CASES
from benchmarks.page_tables import format_table
from penstock.formula.core.values import FormulaType
from tests.support.graphql_client import CREATE, CREATE_GROUP
from tests.support.penstock_command import Server, client, start_server
from tests.support.server_process import free_port

MACHINES: Final = 2
ONE_CORE: Final = "a worker, one core"
ALL_CORES: Final = "a worker, all cores"
ON_DASK: Final = f"Dask, {MACHINES} machines"
FIRST: Final = {ONE_CORE: 23.5, ON_DASK: 16.1}
"""The seconds that 1,500,000 rows took first, on another machine with two cores."""

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_DURATION: Final = """query($id: ID!) { node(id: $id) { ... on Execution {
  durationSeconds progress { rowsSucceeded } } } }"""
_LATEST: Final = """query($pipeline: ID!) { pipeline(id: $pipeline) {
  executions(first: 1) { nodes { id } } } }"""


class RunCost(NamedTuple):
    """The seconds of an execution, the processor seconds of all processes, and the output."""

    seconds: float
    processor: float
    succeeded: int
    digest: str


def measure_runs(rows: int, folder: Path) -> dict[str, RunCost]:
    """Send a file of so many rows through a server of each kind."""
    file = folder / "rows.csv"
    with file.open("wb") as out:
        out.writelines(CASES["sample"].chunks(rows))
    found = {
        ONE_CORE: _measure_run(file, folder / "one", PENSTOCK_EXECUTION_CORES="1"),
        ALL_CORES: _measure_run(file, folder / "all"),
    }
    with _cluster(folder) as (address, machines):
        found[ON_DASK] = _measure_run(file, folder / "dask", machines, PENSTOCK_DASK=address)
    assert len({run.digest for run in found.values()}) == 1
    return found


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """A scheduler with machines of one thread; its address, and the ids of their processes."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    place = ("--host", "127.0.0.1", "--no-dashboard")
    worker = ("--nthreads", "1", "--nworkers", "1", "--no-nanny", "--local-directory", str(folder))
    with ExitStack() as stack:
        started = [
            _start("distributed.cli.dask_scheduler", "--port", str(port), *place),
            *(
                _start("distributed.cli.dask_worker", address, *worker, *place)
                for _ in range(MACHINES)
            ),
        ]
        for process in started:
            stack.callback(_end, process)
        with Client(address, timeout=60) as asking:
            asking.wait_for_workers(MACHINES, timeout=60)
        yield address, [process.pid for process in started]


def _start(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.DEVNULL)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def _measure_run(
    file: Path, data_dir: Path, machines: list[int] | None = None, **settings: str
) -> RunCost:
    arguments = ("--port", str(free_port()), "--data-dir", str(data_dir), "--no-seed")
    output = data_dir / "output.csv"
    with start_server(data_dir.with_suffix(".log"), *arguments, **settings) as server:
        with client(server, data_dir, "/=admin") as asking:
            assert asking.ask(CREATE_GROUP, input={"path": "/usa"})["group"]
            content = {"name": "large", "group": "/usa", "transformer": sample_transformer()}
            pipeline = asking.ask(CREATE, input=content)["pipeline"]["id"]
        processes = [server.process.pid, *(machines or ())]
        before = sum(map(processor_seconds, processes))
        _run_file(server, file, data_dir, output)
        processor = sum(map(processor_seconds, processes)) - before
        with client(server, data_dir, "/=admin") as asking:
            (latest,) = asking.ask(_LATEST, pipeline=pipeline)["executions"]["nodes"]
            execution = asking.ask(_DURATION, id=latest["id"])
    digest = sha256(output.read_bytes()).hexdigest()
    done = execution["progress"]["rowsSucceeded"]
    return RunCost(execution["durationSeconds"], processor, done, digest)


def _run_file(server: Server, file: Path, data_dir: Path, output: Path) -> None:
    command = [sys.executable, "-m", "penstock", "run", "large", str(file), "--url", server.url]
    places = ["--data-dir", str(data_dir), "--group", "/usa", "--output", str(output)]
    subprocess.run([*command, *places], check=True, stdout=subprocess.DEVNULL)


def processor_seconds(process: int) -> float:
    """The processor time of a process, and of all that it has started."""
    spent = 0.0
    with suppress(FileNotFoundError, ProcessLookupError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        spent = sum(map(int, fields[11:15])) / _TICKS
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                spent += processor_seconds(child)
    return spent


def sample_transformer() -> dict[str, Any]:
    """The transformer of the sample pipeline, as an input of the API."""
    plan = CASES["sample"].plan
    return {
        "parameters": [
            {
                "index": n,
                "key": one.key,
                "label": one.label,
                "type": FormulaType(one.type).name,
                "required": one.required,
            }
            for n, one in enumerate(plan.columns)
        ],
        "transforms": [
            {
                "index": n,
                "formula": step.formula,
                "outputs": [{"index": 0, "key": step.key, "type": FormulaType(step.type).name}],
            }
            for n, step in enumerate(plan.steps)
        ],
    }


def run_table(found: Mapping[str, RunCost]) -> str:
    """The table of runs."""
    rows = [
        [where, f"{run.seconds:.1f}", f"{FIRST.get(where, '')}", f"{run.processor:.1f}"]
        for where, run in found.items()
    ]
    head = "where | seconds by the clock | first | processor seconds of all processes"
    return format_table(head, rows)
