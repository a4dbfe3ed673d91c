"""Jobs: work that goes on when the request that began it is answered, and who may follow it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from penstock.datastore.access.access import Access, absent
from penstock.datastore.errors import NotFound
from penstock.datastore.records import Struct
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import load, read_rows, resource_id
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Item, Query, Table
from penstock.datastore.text import is_id


class JobKind(StrEnum):
    """What is done."""

    DELETE_GROUP = "delete_group"
    IMPORT_AUDIO = "import_audio"


class JobState(StrEnum):
    """How far a job is: waiting, being worked on, at its end, or given up."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Job(Struct, frozen=True, kw_only=True):
    """A job about one group, or one that is its user's alone; `message` says why it was given up.

    Of `total` steps `done` are behind it; there is no total until it is known what is to be done.
    A step is a group, or a resource in one group; of an import, an object below `prefix` of the
    bucket that `connection` leads to. `cursor` is where a worker goes on after another.
    """

    id: str
    kind: JobKind
    state: JobState
    group: GroupPath | None = None
    connection: str | None = None
    prefix: str | None = None
    cursor: str | None = None
    created_at: str
    created_by: str
    started_at: str | None = None
    finished_at: str | None = None
    done: int = 0
    total: int | None = None
    message: str | None = None

    @property
    def is_over(self) -> bool:
        return self.state in (JobState.DONE, JobState.FAILED)


def new_job(access: Access, kind: JobKind, **about: Any) -> Job:
    """A job of the caller's that waits to be run, about what the fields say."""
    return Job(
        **about,
        id=access.clock.new_id(),
        kind=kind,
        state=JobState.PENDING,
        created_at=access.clock.timestamp(),
        created_by=access.caller.user_id,
    )


def item_of(job: Job) -> Item:
    """The row of a job that is not over, which is listed for whoever works on jobs."""
    attributes = msgspec.to_builtins(job)
    del attributes["id"]
    return {**JOB.item(id=job.id), **attributes}


async def find_jobs(table: Table, ids: Sequence[str]) -> list[Job | None]:
    """Read jobs: consistent gets of `pk = J:<id>, sk = J`, batched; aligned with the ids."""
    keys = {id: JOB.key(id=id) for id in ids if is_id(id)}
    rows = await read_rows(table, keys.values(), consistent=True)
    items = [rows.get(keys[id]) if id in keys else None for id in ids]
    return [
        None if item is None else load(Job, item, id=id)
        for id, item in zip(ids, items, strict=True)
    ]


async def unfinished(table: Table) -> list[str]:
    """The ids of jobs that are not over, oldest first, as far as one page goes."""
    page = await table.query(Query(partition=JOB.index_of(), index=True))
    return [resource_id(item) for item in page.items]


async def left_alone(table: Table, before: str) -> int:
    """Count the jobs begun before that time that nobody holds then, as far as one page goes."""
    page = await table.query(Query(partition=JOB.index_of(), index=True))
    return sum(
        str(item["createdAt"]) < before and str(item.get("heldUntil", "")) < before
        for item in page.items
    )


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs that a caller may follow: their own, and those about groups they may know."""

    access: Access

    async def many(self, ids: Sequence[str]) -> list[Job | NotFound]:
        """Get jobs; one answer for each id, aligned."""
        found = await find_jobs(self.access.table, ids)
        return [
            job if job is not None and self._follows(job) else absent("job")
            for id, job in zip(ids, found, strict=True)
        ]

    def _follows(self, job: Job) -> bool:
        caller = self.access.caller
        if job.created_by == caller.user_id:
            return True
        return job.group is not None and caller.sees(job.group)
