"""Loads: many clients of a server that write beside each other what meets at the same rows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from penstock.datastore.dynamodb.retry import DEADLINE
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.ngsi.counts import IngestCounts, read_counts
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.roles import Caller, GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key, Table
from tests.datastore.audio import sample_library
from tests.datastore.manifest.sample_runs import discover, run_faults, run_name
from tests.datastore.ngsi.latest_checks import check_latest, list_series, stored_keys
from tests.datastore.ngsi.sample_destinations import PrefixedDestinations, open_dynamodb
from tests.datastore.ngsi.sample_sinks import AT, car, notification, open_world
from tests.support import consistency_check
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import SUPER, USA, create_groups, make
from tests.support.stores import open_dynamodb as open_table
from tests.support.stores import open_files

TAGS: Final = ("material=wood/oak", "plant=usa/north", "line=7", "owner=ann")
"""The tags of each created pipeline: six levels, so that ten rows are counters of all."""

GROUPS: Final = tuple(GroupPath(f"{USA}/g{number}") for number in range(8))


@dataclass(frozen=True, slots=True)
class LoadedServer:
    """The store of one server, and its sink if the load has notifications."""

    store: Store
    sink: NotificationSink | None = None


async def nothing_to_prepare(_: Store) -> str:
    return ""


Prepare: TypeAlias = Callable[[Store], Awaitable[str]]
"""Makes what the writes need; returns the id that they share, if any."""

WriteOne: TypeAlias = Callable[[LoadedServer, str, str], Awaitable[object]]
"""Writes one thing of a name that no other write has; the last text is the shared id."""


CheckRows: TypeAlias = Callable[[Table], Awaitable[list[str]]]
"""Describes each row that is not what the others demand."""

CheckCounts: TypeAlias = Callable[[Table, str, int], Awaitable[list[str]]]
"""Describes what is missing or wrong after so many writes to the table at this URL."""


class Load(NamedTuple):
    """A kind of write, and the check of all rows afterwards."""

    noun: str
    prepare: Prepare
    write: WriteOne
    check: CheckCounts
    sinks: bool = False


async def _prepare_groups(store: Store) -> str:
    await create_groups(store, USA, *GROUPS)
    return ""


async def _prepare_manifest(store: Store) -> str:
    """Make a manifest with all its shards, and without runs: it is made once, and used for long."""
    session = await create_groups(store, USA)
    for number in range(32):
        await discover(session, f"first{number}/")
    for number in range(32):
        await session.run_recovery.delete(run_name(f"first{number}/"), force=True)
    return ""


async def _prepare_pipeline(store: Store) -> str:
    session = await create_groups(store, USA)
    return (await make(session, USA, "shared", *TAGS)).id


async def _create_in_one_group(server: LoadedServer, name: str, _: str) -> object:
    return await make(server.store.open_session(SUPER), USA, name, *TAGS)


async def _create_in_eight_groups(server: LoadedServer, name: str, _: str) -> object:
    group = GROUPS[sum(name.encode()) % len(GROUPS)]
    return await make(server.store.open_session(SUPER), group, name, *TAGS)


async def _create_execution(server: LoadedServer, name: str, pipeline: str) -> object:
    # A caller of its own, because each may have only some uploads open.
    session = server.store.open_session(Caller(name, SUPER.roles))
    return await session.executions.creating.create(ExecutionRequest(pipeline_id=pipeline))


async def _insert_run(server: LoadedServer, name: str, _: str) -> object:
    return await discover(server.store.open_session(SUPER), f"run={name}/")


async def _add_track(server: LoadedServer, name: str, _: str) -> object:
    library = server.store.open_session(Caller("ann", {})).audio
    return await sample_library.add(library, name, name, "Artist", album="Album", genres=("Rock",))


async def _notify(server: LoadedServer, name: str, _: str) -> object:
    assert server.sink is not None
    cars = [car(f"car{number}", speed=number) for number in range(2)]
    return await server.sink.accept_notification(notification(*cars, correlator=name), 100)


async def _check_samples(table: Table, endpoint_url: str, written: int) -> list[str]:
    """Compare counts, samples, and the rows that name the latest of these, after all is stored."""
    counts = await _wait_until_settled(table)
    faults = []
    if counts != IngestCounts(received=2 * written, persisted=2 * written, items=2 * written):
        faults.append(f"{counts} of {written} notifications")
    async with _open_samples(endpoint_url, table) as destinations:
        access = SinkAccess(destinations)
        notified = Store(table, ngsi_access=access).open_session(SUPER).notifications
        series = await list_series(notified)
        stored = [len(await stored_keys(notified, of)) for of in series]
        if stored != [written] * 2:
            faults.append(f"{stored} samples of {written} notifications")
        try:
            await check_latest(table, notified)
        except AssertionError as wrong:
            faults.append(f"latest: {wrong}")
    return faults


async def _wait_until_settled(table: Table) -> IngestCounts:
    async def is_settled() -> bool:
        return not (await read_counts(table, AT)).pending

    await until(is_settled)
    return await read_counts(table, AT)


@asynccontextmanager
async def _open_samples(
    endpoint_url: str, table: Table, deadline: float = DEADLINE
) -> AsyncIterator[PrefixedDestinations]:
    """Open the tables of samples that belong to a table of the emulator."""
    assert isinstance(table, DynamoDBTable)
    inner = await open_dynamodb(endpoint_url, deadline=deadline)
    try:
        yield PrefixedDestinations(inner, f"{table._name[-8:]}.")
    finally:
        await inner.close()


def _checked_by(faults: CheckRows, is_thing: Callable[[Key], bool]) -> CheckCounts:
    """Return the check that counts all things and recounts all rows that follow from them."""

    async def check(table: Table, _: str, written: int) -> list[str]:
        found = sum(map(is_thing, await contents(table)))
        return [*([] if found == written else [f"{found} of {written}"]), *await faults(table)]

    return check


_check_pipelines = _checked_by(consistency_check.faults, lambda key: key.sk == "PV:latest")
_check_executions = _checked_by(consistency_check.faults, lambda key: key.sk == "PE:P")
_check_runs = _checked_by(run_faults, lambda key: key.sk == "R")
_check_tracks = _checked_by(sample_library.drift, lambda key: key.sk.startswith("AU:"))

LOADS: Final[dict[str, Load]] = {
    "group": Load(
        "pipelines in one group", _prepare_groups, _create_in_one_group, _check_pipelines
    ),
    "groups": Load(
        "pipelines in eight groups", _prepare_groups, _create_in_eight_groups, _check_pipelines
    ),
    "executions": Load(
        "executions of one pipeline", _prepare_pipeline, _create_execution, _check_executions
    ),
    "runs": Load("runs of one manifest", _prepare_manifest, _insert_run, _check_runs),
    "notifications": Load(
        "notifications of one service", nothing_to_prepare, _notify, _check_samples, sinks=True
    ),
    "library": Load("tracks of one user", nothing_to_prepare, _add_track, _check_tracks),
}


@dataclass(slots=True)
class LoadResult:
    """The seconds of each write that succeeded, the failures of the others, and the whole time."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    elapsed: float = 0.0

    def add(self, other: "LoadResult") -> None:
        self.seconds += other.seconds
        self.failures += other.failures
        self.elapsed = max(self.elapsed, other.elapsed)


@asynccontextmanager
async def open_loaded_server(
    endpoint_url: str, table: str, directory: Path, deadline: float, *, sinks: bool = False
) -> AsyncIterator[LoadedServer]:
    """Open what one server has of its own over a table that exists: clients, store and sink."""
    async with AsyncExitStack() as held:
        opened = await open_table(endpoint_url, name=table, deadline=deadline)
        held.push_async_callback(opened.close)
        files = await held.enter_async_context(open_files(directory))
        server = LoadedServer(Store(opened, files=files))
        if sinks:
            samples = _open_samples(endpoint_url, opened, deadline)
            destinations = await held.enter_async_context(samples)
            world = await held.enter_async_context(open_world(opened, destinations, directory))
            sink = await held.enter_async_context(world.open_sink())
            server = replace(server, sink=sink)
        yield server


async def run_load(
    load: Load, server: LoadedServer, names: Sequence[str], clients: int, shared: str
) -> LoadResult:
    """Write once for each name, by so many clients that each wait for their answer."""
    result, left = LoadResult(), iter(names)
    clock = asyncio.get_running_loop().time

    async def write_rest() -> None:
        for name in left:
            began = clock()
            try:
                await load.write(server, name, shared)
            except PenstockError as failure:
                result.failures.append(f"{type(failure).__name__}: {failure}")
            else:
                result.seconds.append(clock() - began)

    began = clock()
    await asyncio.gather(*(write_rest() for _ in range(clients)))
    result.elapsed = clock() - began
    return result


async def create_table(endpoint_url: str) -> DynamoDBTable:
    """Create a table at an endpoint without limits, and open it there."""
    table = await open_table(endpoint_url)
    await table.create()
    return table
