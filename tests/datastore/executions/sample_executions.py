"""Pipelines, their inputs, and executions in each state, for tests."""

from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from typing import Any

from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import (
    errors_key,
    ingest_key,
    input_key,
    output_key,
    staged_key,
)
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.port import Files
from penstock.datastore.records import (
    Output,
    Parameter,
    Pipeline,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.support.sample_resources import EU, NORTHWEST, SUPER, USA, caller, create_groups, draft

TRIPS = Transformer(
    parameters=(
        Parameter(index=0, key="distance", type=ValueType.NUMBER, required=True),
        Parameter(index=1, key="fuel", label="Fuel type", type=ValueType.STRING),
    ),
    transforms=(
        Transform(
            index=0,
            formula=":distance * 2",
            outputs=(Output(index=0, key="return", type=ValueType.NUMBER),),
        ),
        Transform(
            index=1,
            formula="IF(:fuel == 'gas', REF('return') / 4, 0)",
            outputs=(Output(index=0, key="co2", type=ValueType.NUMBER),),
        ),
    ),
)
INPUT = b"distance,Fuel type\n12.5,gas\nfar,gas\n3,wood\n"
OUTPUT = b"return,co2\r\n25,6.25\r\n6,0\r\n"
ERRORS = (
    b"row,column,code,message,distance,Fuel type\r\n"
    b"2,distance,INVALID_INPUT,\":distance: expected a number, found 'far'\",far,gas\r\n"
)

ANN = caller({USA: Role.ADMIN}, "ann")
NORA = caller({NORTHWEST: Role.CONTRIBUTOR}, "nora")
REED = caller({USA: Role.READER}, "reed")
EVE = caller({EU: Role.ADMIN}, "eve")


async def pipeline_in(
    store: Store, group: GroupPath = USA, name: str = "Trips", **more: Any
) -> Pipeline:
    session = store.open_session(SUPER)
    content = {**draft(name), "transformer": TRIPS, **more}
    return await session.pipelines.writing.create(group, content, None)


async def plant_pipeline(store: Store) -> Pipeline:
    """Create the groups and a pipeline of /usa."""
    await create_groups(store)
    return await pipeline_in(store)


async def begin_execution(
    store: Store, pipeline: Pipeline, who: Caller = ANN, **more: Any
) -> Execution:
    wanted = ExecutionRequest(pipeline_id=pipeline.id, **more)
    return await store.open_session(who).executions.creating.create(wanted)


async def uploaded_execution(
    store: Store, pipeline: Pipeline, data: bytes = INPUT, who: Caller = ANN, **more: Any
) -> Execution:
    """Create an execution and send its input."""
    execution = await begin_execution(store, pipeline, who, **more)
    await put_file(store.files, ingest_key(execution), data)
    return execution


async def ready_execution(
    store: Store, pipeline: Pipeline, data: bytes = INPUT, who: Caller = ANN, **more: Any
) -> Execution:
    """Create an execution and confirm its input."""
    execution = await uploaded_execution(store, pipeline, data, who, **more)
    return await store.open_session(who).executions.uploads.confirm(execution.id)


async def finished_execution(
    store: Store, pipeline: Pipeline, data: bytes = INPUT, **more: Any
) -> Execution:
    """Create an execution and run it to its end."""
    execution = await ready_execution(store, pipeline, data, **more)
    assert await store.execution_worker("w").run_all() == 1
    return await current_execution(store, execution)


async def current_execution(store: Store, execution: Execution) -> Execution:
    """The current state of an execution."""
    found = await find_execution(store.table, execution.id)
    assert found is not None
    return found


def all_keys(execution: Execution) -> list[str]:
    """The keys of an execution's upload, input, output and rejected rows, and of each claim's."""
    made = (output_key(execution), errors_key(execution))
    claims = range(1, execution.fence + 1)
    staged = [staged_key(key, fence) for fence in claims for key in made]
    return [ingest_key(execution), input_key(execution), *made, *staged]


async def put_file(files: Files, key: str, data: bytes) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield data

    await files.write(key, chunks(), content_type="text/csv")


async def read_content(files: Files, key: str) -> bytes | None:
    """The content of a file; None if there is none."""
    if await files.stat(key) is None:
        return None
    return b"".join([chunk async for chunk in files.read(key)])


async def event_history(session: Session, execution: Execution) -> list[tuple[str, str, str]]:
    """Each event, the state after it, and its author."""
    page = await session.executions.reading.events(execution, Window(size=100))
    return [(event.happening, event.state, event.by) for _, event in page.entries]


def copied_message(id: str) -> str:
    """Return the message of an execution whose result was copied from this one."""
    known_as = urlsafe_b64encode(f"Execution:{id}".encode()).decode()
    return (
        f"The result was copied from the execution {known_as}, which read the same input with the "
        "same formulas."
    )
