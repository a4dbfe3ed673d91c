"""Jobs: work that continues after the response to the request that began it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import DatasetColumn, StoredRecord
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import load, read_rows, resource_id
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import Attributes, Query, Table
from penstock.datastore.text import is_id
from penstock.datastore.work_reports import JobChange, JobReport

COUNTED: Final = 100
"""The unfinished jobs that are counted to tell how many there are."""


class JobKind(StrEnum):
    """The kinds of jobs."""

    DELETE_GROUP = "delete_group"
    IMPORT_AUDIO = "import_audio"
    DELETE_SAMPLES = "delete_samples"
    RENAME_AUDIO = "rename_audio"
    LOAD_DATASET = "load_dataset"


class JobState(StrEnum):
    """The state of a job: waiting, running, done, failed, or cancelled."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SampleSpan(StoredRecord, frozen=True, kw_only=True):
    """The samples of an entity between two times of events in milliseconds, both inclusive."""

    service: str
    path: str
    entity: str
    type: str
    low: int
    high: int


class RenamedKind(StrEnum):
    """The kinds of names in an audio library that a job changes."""

    ARTIST = "artist"
    ALBUM = "album"
    GENRE = "genre"


class Renaming(StoredRecord, frozen=True, kw_only=True):
    """A new name for an artist, an album or a genre, which may be the name of another one.

    `place` is that in the list of its kind. An album also gets an `artist` and, if it is merged
    into another one, the MusicBrainz id of that; None leaves the artist. `old_artist` is the
    normal form of the name that an artist had, or the artist of an album that is listed by it;
    jobs of earlier releases have none.
    """

    kind: RenamedKind
    place: str
    name: str
    artist: str | None = None
    merges: bool = False
    mbid: str | None = None
    old_artist: str | None = None


class DatasetLoad(StoredRecord, frozen=True, kw_only=True):
    """The upload that becomes the content of the next version of a dataset.

    `replaces` is the file of the content that the caller saw.
    """

    dataset: str
    replaces: str
    upload: str
    columns: tuple[DatasetColumn, ...]
    keys: tuple[str, ...]


class Job(StoredRecord, frozen=True, kw_only=True):
    """A job about one group, or one that only its user sees; `message` is why it failed.

    `done` counts the finished steps out of `total`, which is None until the work is counted. A step
    is a group, or a resource in one group; in an import it is one object below `prefix` in the
    bucket of `connection`; in a deletion of `samples` it is one sample, and there is no total; in a
    `renaming` it is one track, and in a `load` one megabyte. `problems` are the rules that the file
    of a load breaks.
    `cursor` is the position at which the next worker continues.
    """

    id: str
    kind: JobKind
    state: JobState
    group: GroupPath | None = None
    connection: str | None = None
    prefix: str | None = None
    samples: SampleSpan | None = None
    renaming: Renaming | None = None
    load: DatasetLoad | None = None
    cursor: str | None = None
    created_at: str
    created_by: str
    started_at: str | None = None
    finished_at: str | None = None
    done: int = 0
    total: int | None = None
    message: str | None = None
    problems: tuple[FieldProblem, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.state not in (JobState.PENDING, JobState.RUNNING)


def new_job(access: Access, kind: JobKind, **about: Any) -> Job:
    """A new job of the caller that waits for a worker; `about` are its other fields."""
    return Job(
        **about,
        id=access.clock.new_id(),
        kind=kind,
        state=JobState.PENDING,
        created_at=access.clock.timestamp(),
        created_by=access.caller.user_id,
    )


def job_report(job: Job, change: JobChange, at: str, reason: str | None = None) -> JobReport:
    """The report of a change of the job, with the steps that it has done."""
    now, began = _seconds(at), _seconds(job.started_at or at)
    return JobReport(
        change=change,
        id=job.id,
        kind=job.kind.value,
        at=now,
        waited=max(0.0, now - _seconds(job.created_at)) if change is JobChange.STARTED else None,
        seconds=max(0.0, now - began) if change.is_end else None,
        steps=job.done,
        reason=reason,
    )


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


async def find_jobs(table: Table, ids: Sequence[str]) -> list[Job | None]:
    """Read jobs, aligned with the ids; raises Unreadable."""
    return [None if row is None else read_job(row) for row in await find_job_rows(table, ids)]


async def find_job_rows(table: Table, ids: Sequence[str]) -> list[Attributes | None]:
    """Read jobs: consistent gets of `pk = J:<id>, sk = J`, batched; aligned with the ids."""
    keys = {id: JOB.key(id=id) for id in ids if is_id(id)}
    rows = await read_rows(table, keys.values(), consistent=True)
    return [rows.get(keys[id]) if id in keys else None for id in ids]


def read_job(item: Attributes) -> Job:
    return load(Job, item, id=resource_id(item))


class UnfinishedJob(NamedTuple):
    """An entry of the list of unfinished jobs; a job of any release can be chosen by it."""

    id: str
    kind: str
    created_by: str


async def unfinished_jobs(table: Table) -> list[UnfinishedJob]:
    """The unfinished jobs, oldest first, at most one page of them."""
    page = await table.query(Query(partition=JOB.index_partition(), index=True))
    return [_read_unfinished(item) for item in page.items]


def _read_unfinished(item: Attributes) -> UnfinishedJob:
    def text(name: str) -> str:
        return str(item.get(name, ""))

    return UnfinishedJob(resource_id(item), text("kind"), text("createdBy"))


class JobQueue(NamedTuple):
    """The unfinished jobs of each kind, at most `COUNTED` in all, and the seconds of the oldest."""

    unfinished: Mapping[JobKind, int]
    age: float


async def read_job_queue(table: Table, now: datetime) -> JobQueue:
    """Read the number and the age of the unfinished jobs: one query of the index.

    Jobs of kinds that this release does not know are left out.
    """
    query = Query(partition=JOB.index_partition(), index=True, limit=COUNTED)
    items = (await table.query(query)).items
    kinds = Counter(str(item.get("kind", "")) for item in items)
    created = [_seconds(str(item["createdAt"])) for item in items if "createdAt" in item]
    age = max(0.0, now.timestamp() - min(created)) if created else 0.0
    return JobQueue({kind: kinds[kind.value] for kind in JobKind}, age)


async def count_unheld_jobs(table: Table, before: str) -> int:
    """Count the jobs that were begun before the time and held by no worker then.

    At most one page of jobs is counted.
    """
    page = await table.query(Query(partition=JOB.index_partition(), index=True))
    return sum(
        str(item["createdAt"]) < before and str(item.get("heldUntil", "")) < before
        for item in page.items
    )


def progress_of(job: Job) -> int:
    """Return a number that grows with each change of a job that its followers see."""
    stage = 2 if job.is_over else int(job.state is JobState.RUNNING)
    return (2 * stage + (job.total is not None)) * 10**12 + job.done


def read_progress(row: Attributes) -> int:
    """Read the progress of a job from its row."""
    return progress_of(read_job(row))
