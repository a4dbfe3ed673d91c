"""Making a version of a dataset from a large upload, as a job.

The file is read in a stream and checked; then the version, its file with the index and the end of
the job are one transaction. So a worker that dies leaves no version, and the next one starts anew.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import structs

from penstock.datastore.access.access import Access
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.datasets.csv import CsvCode, dataset_problems
from penstock.datastore.datasets.files import draft_content, end_upload, upload_key
from penstock.datastore.datasets.large_files import ContentStream, keep_following
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.errors import (
    FieldProblem,
    Invalid,
    NotFound,
    PenstockError,
    VersionConflict,
)
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.jobs.few_jobs import begin_job, require_job_room
from penstock.datastore.jobs.jobs import DatasetLoad, Job, JobKind, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.objects.chunks import require_size
from penstock.datastore.records import DatasetContent, ReferenceDataset
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.writing.writer import ResourceWriter, require_state_allows
from penstock.datastore.roles import Role
from penstock.datastore.scratch_folders import scratch_folder
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.text import is_id

MAX_LOADS: Final = 5
"""The loads of one user that may be unfinished at a time."""

STEP_BYTES: Final = 1_000_000

_UPLOAD: Final = ("content", "upload")


@dataclass(frozen=True, slots=True)
class DatasetLoads:
    """Loads of the caller; `on_job_created` is called for each new job."""

    access: Access
    limits: CsvLimits
    on_job_created: Callable[[Job], None]

    async def begin(
        self,
        id: str,
        expected_version: int,
        content: DatasetContent,
        upload: str,
        noted: Sequence[FieldProblem] = (),
    ) -> Job:
        """Begin a job that makes an upload of the caller the content of the next version.

        `content` has the columns and keys.

        The caller must be contributor at the owner group. Raises NotFound, VersionConflict,
        IllegalState, Invalid with all problems but those of the rows, also those that were `noted`
        before, and LimitExceeded.
        """
        dataset = await ResourceReader(REFERENCE_DATASET, self.access).one(id)
        self.access.require_owner(Role.CONTRIBUTOR, dataset)
        if dataset.version != expected_version:
            raise VersionConflict(dataset.version)
        require_state_allows(dataset, {"content": None})
        await require_enabled(self.access, dataset.owner)
        limit = "unfinished loads of datasets"
        await require_job_room(self.access, JobKind.LOAD_DATASET, limit, MAX_LOADS)
        problems = [*noted, *dataset_problems(content), *await self._upload_problems(upload)]
        if problems:
            raise Invalid(problems)
        load = DatasetLoad(
            dataset=id,
            replaces=dataset.content.file,
            upload=upload,
            columns=content.columns,
            keys=content.keys,
        )
        job = new_job(self.access, JobKind.LOAD_DATASET, group=dataset.owner, load=load)
        await begin_job(self.access, job, limit, MAX_LOADS)
        self.on_job_created(job)
        return job

    async def _upload_problems(self, upload: str) -> list[FieldProblem]:
        stat = None
        if is_id(upload):
            stat = await self.access.files.stat(upload_key(self.access, upload))
        if stat is None:
            return [_missing_upload()]
        if stat.size > self.limits.size:
            message = f"is larger than {self.limits.size} bytes"
            return [FieldProblem([*_UPLOAD], message, CsvCode.TOO_LARGE.value)]
        return []


async def load_dataset(
    access: Access, lease: JobLease, limits: CsvLimits, debts: WorkDebts
) -> None:
    """Run the job of a lease; `access` must be that of its creator, who may do everything.

    The creator owes the processor time.
    """
    if lease.job.load is not None:
        with scratch_folder("load") as folder:
            await _Load(access, lease, limits, debts, lease.job.load, folder).run()


@dataclass(frozen=True, slots=True)
class _Load:
    """One load, in a local folder."""

    access: Access
    lease: JobLease
    limits: CsvLimits
    debts: WorkDebts
    load: DatasetLoad
    folder: Path

    async def run(self) -> None:
        """Make the version; raises Invalid with the problems of the file."""
        key = upload_key(self.access, self.load.upload)
        stat = await self.access.files.stat(key)
        if stat is None:
            raise Invalid([_missing_upload()])
        await self.lease.set_steps_left(-(-stat.size // STEP_BYTES))
        content = draft_content(self.load.columns, self.load.keys)
        # What is stored is removed also when another worker has the job.
        storing = structs.replace(self.access, table=self.lease.table)
        stream = ContentStream(storing, self.folder, self.limits, self._note)
        user = self.access.caller.user_id
        async with self.debts.charge_while(user, lambda: stream.seconds):
            try:
                upload = require_size(self.access.files.read(key), stat.size)
                checked = await stream.check(content, upload)
            except NotFound:
                raise Invalid([_missing_upload()]) from None
        if checked.problems:
            raise Invalid(checked.problems)
        writing = ResourceWriter(REFERENCE_DATASET, self.access).with_attachment(checked.file)
        made = writing.replace_content(
            self.load.dataset, {"content": checked.content}, self._end_writes, self._require_seen
        )
        await keep_following(made, self.lease.advance)
        self.lease.is_over = True
        with suppress(PenstockError):  # a sweep removes it later
            await end_upload(self.access, self.load.upload)

    async def _note(self, read_bytes: int) -> None:
        await self.lease.advance(max(0, read_bytes // STEP_BYTES - self.lease.done))

    def _end_writes(self, _made: ReferenceDataset) -> list[Write]:
        return self.lease.done_writes()

    def _require_seen(self, standing: ReferenceDataset) -> None:
        """Refuse to replace a content that the caller did not see."""
        if standing.content.file != self.load.replaces:
            raise VersionConflict(standing.version)


def _missing_upload() -> FieldProblem:
    return FieldProblem([*_UPLOAD], "there is no such file", "NO_FILE")
