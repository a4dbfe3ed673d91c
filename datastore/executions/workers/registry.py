"""The processes that run executions, which announce themselves every few seconds."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from platform import node
from typing import Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.executions.claims.queue import sample_queue
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.records import StoredRecord
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.table.items import attributes_of, load, read_all
from penstock.datastore.table.layout import WORKER
from penstock.datastore.table.pages import Slice, Window, make_slice
from penstock.datastore.table.port import TTL, Attributes, Delete, Put, Query, Range, Table

ANNOUNCE_SECONDS: Final = 15.0
SEEN_WITHIN: Final = timedelta(minutes=1)
MOST_WORKERS: Final = 1_000


class WorkerKind(StrEnum):
    """A server with its worker processes, a `penstock worker`, or a program that uses the API."""

    SERVER = "server"
    COMMAND = "command"
    EXTERNAL = "external"


class Worker(StoredRecord, frozen=True, kw_only=True):
    """A process that runs up to `places` executions at once; `running` are those that it holds.

    Of an external worker only the name that its claims state is known.
    """

    name: str
    kind: WorkerKind
    host: str | None = None
    process: int | None = None
    places: int | None = None
    version: str | None = None
    started_at: str | None = None
    seen_at: str | None = None
    running: int = 0


@dataclass(frozen=True, slots=True)
class WorkerRegistry:
    """The workers over one table. An announcement expires; nothing depends on it."""

    table: Table
    clock: Clock

    def describe_process(self, name: str, kind: WorkerKind, places: int, version: str) -> Worker:
        """Describe this process as a worker that starts now."""
        return Worker(
            name=name,
            kind=kind,
            host=node() or None,
            process=os.getpid(),
            places=places,
            version=version,
            started_at=self.clock.timestamp(),
        )

    async def announce(self, worker: Worker, running: int) -> None:
        """Write that the worker is there, and its load: `pk = WK, sk = WK:<name>`; 1 write unit."""
        now = self.clock.now()
        seen = msgspec.structs.replace(worker, seen_at=iso_timestamp(now), running=running)
        expiry = {TTL: int((now + SEEN_WITHIN).timestamp())}
        row = {**WORKER.item(name=worker.name), **attributes_of(seen), **expiry}
        await self.table.write([Put(row)])

    async def withdraw(self, worker: Worker) -> None:
        """Delete the row of a worker that stops."""
        await self.table.write([Delete(WORKER.key(name=worker.name))])

    async def list_all(self) -> list[Worker]:
        """List the workers that were there a minute ago: `pk = WK`, at most MOST_WORKERS.

        Claims of other workers, in a sample of the queue, show as external workers.
        """
        query = Query(
            partition=WORKER.pk.fill({}), range=Range(WORKER.sk.prefix({})), limit=MOST_WORKERS
        )
        page = await self.table.query(query)
        since = iso_timestamp(self.clock.now() - SEEN_WITHIN)
        found = read_all(_worker_of, page.items)
        announced = [one for one in found if (one.seen_at or "") >= since]
        held = _count_held((await sample_queue(self.table)).sampled, self.clock.now())
        return [*announced, *_external_workers(held, {one.name for one in announced})]


@dataclass(frozen=True, slots=True)
class ListWorkers:
    """The list of the workers for the caller."""

    access: Access

    async def page(self, window: Window) -> Slice[Worker]:
        """List the workers by name: `pk = WK`; nothing unless the caller administers `/`."""
        if not self.access.caller.has_role(Role.ADMIN, ROOT):
            return Slice((), more=False, reached=window.after)
        found = await WorkerRegistry(self.access.table, self.access.clock).list_all()
        ahead = [one for one in found if _is_ahead(one.name, window)]
        ordered = sorted(ahead, key=lambda one: one.name, reverse=window.backward)
        return make_slice(ordered, window, lambda one: one.name, more=False)


def _worker_of(row: Attributes) -> Worker:
    return load(Worker, row)


def _count_held(sampled: Iterable[Execution], now: datetime) -> Counter[str]:
    """Count the executions with a valid claim by the name of their worker."""
    moment = iso_timestamp(now)
    return Counter(
        one.worker
        for one in sampled
        if one.state is ExecutionState.IN_PROGRESS
        and one.worker
        and (one.held_until or "") > moment
    )


def _external_workers(held: Counter[str], known: Set[str]) -> Iterator[Worker]:
    for name, count in held.items():
        if name not in known and name.rpartition("@")[2] not in known:
            yield Worker(name=name, kind=WorkerKind.EXTERNAL, running=count)


def _is_ahead(name: str, window: Window) -> bool:
    if window.after is None:
        return True
    return name < window.after if window.backward else name > window.after
