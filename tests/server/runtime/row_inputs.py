"""Inputs that row engines must treat alike, and their results."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from hashlib import sha256
from random import Random

from penstock.datastore.executions.files import input_key
from penstock.datastore.executions.plans.plans import build_plan
from penstock.datastore.executions.records import Execution, ExecutionMode, ExecutionState
from penstock.datastore.executions.workers.row_engine import (
    STEP_BYTES,
    EngineStep,
    RowEngine,
    RowTask,
)
from penstock.datastore.objects.port import Files
from penstock.transform.csv_records import MAX_RECORD
from penstock.transform.outcome import TransformEnding
from penstock.transform.program import Program
from tests.datastore.executions.sample_executions import TRIPS, put_file

HEADER = b"distance,Fuel type\n"
KINDS = (
    b"1.5,gas\n",
    b'2,"wood, dry\nand ""old"""\n',
    b"far,gas\n",
    b"\n",
    b'3,"gas"\r\n',
    b"4\n",
    b'5,g"as\n6,"\n',
    b"7,\xff\n",
)
MIXED = HEADER + b"".join(Random(5).choices(KINDS, k=4000))
LONG = b"1.5," + b"gas " * 60 + b"\n"
LARGE = HEADER + LONG * 2_000 + b"far,gas\n" + LONG * 500 + b"far,gas\n" * 2 + LONG * 1_000
OPEN = HEADER + LONG * 500 + b'2,"' + b"x" * (MAX_RECORD + STEP_BYTES) + b"\n1,gas\n"
ODD_FILES = (
    OPEN,
    b"",
    HEADER,
    HEADER[:-1],
    b"distance,fuel,more\n" + b"1,gas,x\n" * 100,
    b"\xef\xbb\xbf" + HEADER.replace(b"\n", b"\r\n") + b"1,gas\r\n" * 100 + b"2,wood",
    b'distance,"Fuel type' + b"\n1,gas" * 100,
    b"x" * (MAX_RECORD + STEP_BYTES),
    HEADER + b"far,gas\n" * 50,
    HEADER + b"1,gas\n" * 50 + b"2,g\xfcs\n\x81,\x81\n" * 50,
    HEADER + b"1,gas\n" * 50 + "2,gü€s\n".encode() * 50 + b"3,\xff\n",
    HEADER + b'1,"' + b"a\n" * 200 + b'"\n2,gas\n',
)


def name_file(data: bytes) -> str:
    return f"{data[:20]!r}{len(data)}"


async def task_of(files: Files, data: bytes, most: int | None = None, id: str = "e") -> RowTask:
    """Return the task of the pipeline `trips` over stored data."""
    execution = Execution(
        id=id,
        pipeline_id="p",
        pipeline_version=1,
        mode=ExecutionMode.JOB,
        state=ExecutionState.IN_PROGRESS,
        tags=(),
        max_failed_rows=most,
        ingest="",
        created_at="",
        created_by="",
    )
    await put_file(files, input_key(execution), data)
    plan = build_plan(TRIPS)
    return RowTask(execution, plan, (), Program(plan), len(data), {})


Made = tuple[str, str, TransformEnding]


async def collect_steps(
    steps: AsyncGenerator[EngineStep], first: Sequence[EngineStep] = ()
) -> Made:
    """Return the digests of both files and the ending; `first` holds steps read before."""
    output, errors = sha256(), sha256()
    found = [*first, *[step async for step in steps]]
    for step in found:
        output.update(step.written.output)
        errors.update(step.written.errors)
    return output.hexdigest(), errors.hexdigest(), found[-1].ending


async def run_task(engine: RowEngine, files: Files, task: RowTask) -> Made:
    async with aclosing(engine.steps(files, task)) as steps:
        return await collect_steps(steps)
