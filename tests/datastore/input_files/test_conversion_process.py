"""A conversion has a process of its own, which is bounded, and ends with whoever wants it."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.files import output_key, table_key
from penstock.datastore.input_files import conversion_limits, conversion_process, converter
from penstock.datastore.input_files.conversion_limits import ConversionLimits
from penstock.datastore.input_files.conversion_process import ConversionReport
from penstock.datastore.input_files.convert import InputConversion
from penstock.datastore.input_files.converter import Converter, borrow_converter
from penstock.datastore.input_files.kinds import InputKind
from penstock.datastore.input_files.write_table import (
    PACKED,
    ConversionOrder,
    ConvertedInput,
)
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.problems import InputRefused
from tests.datastore.executions.sample_executions import finished_execution, read_content
from tests.datastore.input_files.test_input_files import PARQUET, parquet_file
from tests.datastore.kept_rows.plants import read_kwh
from tests.datastore.objects.conftest import stream
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import on_sqlite

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells and bounds it")
LIMITS = ConversionLimits(1_000, 60, 2**30)


@pytest.fixture
def borrowed() -> Iterator[Converter]:
    with borrow_converter() as one:
        yield one


def endless_order(folder: Path) -> ConversionOrder:
    """The order of a conversion that waits for its input for ever."""
    os.mkfifo(folder / PACKED)
    return ConversionOrder(InputKind.GZIP, str(folder), LIMITS)


def forks_of(one: Converter) -> list[int]:
    pid = one._process.pid
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(process: int) -> bool:
    """Whether a process that leads its session runs, or a fork of it."""
    try:
        os.killpg(process, 0)
    except ProcessLookupError:
        return False
    return True


@on_linux
@on_sqlite
async def test_a_file_that_takes_more_memory_than_it_may_fails_and_others_go_on(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ", ".join(f"range + {n} AS c{n}" for n in range(600))
    wide = parquet_file(f"SELECT {columns} FROM range(2000)")
    with monkeypatch.context() as narrow:
        narrow.setattr(conversion_limits, "MEMORY_BYTES", 128 * 2**20)
        over = await finished_execution(store, pipeline, wide)
    assert (over.state, over.code, over.rows) == ("failed", "LIMIT_EXCEEDED", 0)
    assert "making CSV of the file takes more memory than it may" in (over.message or "")
    assert await read_content(store.files, table_key(over)) is None
    assert await read_content(store.files, output_key(over)) is None
    assert await read_kwh(store, pipeline) == {}
    assert await faults(store.table) == []
    assert (await finished_execution(store, pipeline, parquet_file(PARQUET))).state == "success"


@on_linux
@pytest.mark.parametrize(
    ("number", "error", "words"),
    [
        (signal.SIGSEGV, InputRefused, "the program that reads it breaks at it"),
        (signal.SIGABRT, InputRefused, "the program that reads it breaks at it"),
        (signal.SIGXCPU, InputRefused, "more than 60 seconds of processor time"),
        (signal.SIGKILL, Unavailable, "was ended"),
    ],
)
async def test_the_end_of_a_fork_says_why_there_is_no_table(
    borrowed: Converter,
    tmp_path: Path,
    number: signal.Signals,
    error: type[Exception],
    words: str,
) -> None:
    running = asyncio.create_task(asyncio.to_thread(borrowed.convert, endless_order(tmp_path)))
    await until(lambda: forks_of(borrowed))
    os.kill(forks_of(borrowed)[0], number)
    with pytest.raises(error, match=words):
        await running
    assert borrowed.is_free
    assert forks_of(borrowed) == []


@pytest.mark.parametrize(
    ("memory", "code"), [(2**29 + 1, "LIMIT_EXCEEDED"), (2**29, "UNREADABLE_FILE")]
)
def test_a_program_that_breaks_with_most_of_its_memory_in_use_lacks_memory(
    tmp_path: Path, memory: int, code: str
) -> None:
    order = ConversionOrder(InputKind.PARQUET, str(tmp_path), LIMITS)
    with pytest.raises(InputRefused) as refused:
        converter._result_of(ConversionReport(1.0, -signal.SIGABRT, None, memory), order)
    assert refused.value.problem.code == code


async def test_an_error_of_the_program_is_none_of_the_file(
    borrowed: Converter, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    order = ConversionOrder(InputKind.GZIP, str(tmp_path / "gone"), LIMITS)
    with pytest.raises(RuntimeError, match=r"(?s)a conversion failed: Traceback.*No such file"):
        borrowed.convert(order)
    assert borrowed.is_free
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["", '{"refusal": ["', "7"])
def test_an_outcome_that_is_not_whole_is_none(text: str, tmp_path: Path) -> None:
    assert conversion_process._read_outcome(text.encode()) is None
    with pytest.raises(RuntimeError, match="it left no outcome"):
        converter._result_of(ConversionReport(1.0, 0), endless_order(tmp_path))


@on_linux
async def test_a_process_that_is_killed_leaves_no_fork(tmp_path: Path) -> None:
    with borrow_converter() as one:
        running = asyncio.create_task(asyncio.to_thread(one.convert, endless_order(tmp_path)))
        await until(lambda: forks_of(one))
        os.kill(one._process.pid, signal.SIGKILL)
        with pytest.raises(Unavailable):
            await running
    await until(lambda: not is_running(one._process.pid))
    assert one not in converter._FREE


@on_sqlite
async def test_a_conversion_that_is_cancelled_ends_its_process(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[Converter] = []
    convert_file = Converter.convert

    def convert_endless(one: Converter, order: ConversionOrder) -> ConvertedInput:
        (Path(order.folder) / PACKED).unlink()
        used.append(one)
        return convert_file(one, endless_order(Path(order.folder)))

    data = parquet_file(PARQUET)
    await store.files.write("in", stream(data), content_type="text/csv")
    conversion = InputConversion(store.files, 1_000, store.work_debts)
    with monkeypatch.context() as endless:
        endless.setattr(Converter, "convert", convert_endless)
        running = asyncio.create_task(conversion.convert("in", "out", "eve", len(data)))
        await until(lambda: used)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    await until(lambda: not is_running(used[0]._process.pid))
    assert await read_content(store.files, "out") is None
    # The one thread of this user is free again.
    assert await conversion.convert("in", "out", "eve", len(data)) is not None


async def test_a_conversion_ends_with_the_worker_also_if_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import msgspec, sys\n"
        "from penstock.datastore.input_files.converter import Converter\n"
        "from penstock.datastore.input_files.write_table import ConversionOrder\n"
        "one = Converter()\n"
        "print(one._process.pid, flush=True)\n"
        "one.convert(msgspec.json.decode(sys.argv[1], type=ConversionOrder))"
    )
    order = msgspec.json.encode(endless_order(tmp_path)).decode()
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, order, stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    pid = int(await worker.stdout.readline())
    # The fork has opened its input, and waits for more of it.
    with await asyncio.to_thread(open, tmp_path / PACKED, "wb"):
        assert is_running(pid)
        worker.kill()
        await worker.wait()
        await until(lambda: not is_running(pid))


async def test_a_process_that_waits_ends_with_its_input() -> None:
    one = Converter()
    assert one._process.stdin is not None
    one._process.stdin.close()
    assert await asyncio.to_thread(one._process.wait) == 0
    one.end()


@on_linux
def test_what_reads_the_files_of_users_has_no_secrets_in_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a secret")
    one = Converter()
    try:
        found = Path(f"/proc/{one._process.pid}/environ").read_bytes().split(b"\0")
        assert [line for line in found if line and not line.startswith(b"PYTHON")] == []
    finally:
        one.end()


def test_limits_are_never_above_those_that_the_process_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: dict[int, tuple[int, int]] = {}
    highest = {resource.RLIMIT_CPU: 30, resource.RLIMIT_CORE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda limit: (1, highest.get(limit, 10)))
    monkeypatch.setattr(resource, "setrlimit", found.__setitem__)
    LIMITS.hold()
    bounds = {resource.RLIMIT_CORE: (0, 0), resource.RLIMIT_CPU: (30, 30)}
    if sys.platform == "linux":
        bounds[resource.RLIMIT_DATA] = (10, 10)
    assert found == bounds
