"""The jobs that a caller may follow: found by id, listed, and cancelled."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.errors import IllegalState, NotFound, NotPermitted, Unreadable
from penstock.datastore.jobs.jobs import (
    Job,
    JobKind,
    JobState,
    find_job_rows,
    progress_of,
    read_job,
    read_progress,
)
from penstock.datastore.jobs.rows import ending_updates
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import read_or_report
from penstock.datastore.table.layout import JOB, JOB_OF_GROUP, JOB_OF_USER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_existing
from penstock.datastore.table.port import (
    INDEX_HASH,
    Attributes,
    ConditionFailed,
    Exists,
    Key,
    Query,
    Range,
    Update,
)

_LISTED: Final = JOB_OF_USER.sk.prefix({})


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs that the caller may see: their own, and those about groups they may know."""

    access: Access

    async def page(
        self, group: GroupPath | None, states: Collection[JobState], window: Window
    ) -> Slice[Job]:
        """List the jobs of the caller, `pk = JU:<user>`, or of a group, `pk = JG:<group>`.

        Those of groups below are listed too. The newest is first; `states` choose some of them.
        Raises NotFound for a group that the caller may not know of, or that does not exist.
        """
        if group is None:
            partition = JOB_OF_USER.pk.fill({"user": self.access.caller.user_id})
        else:
            await self.access.require_group(self.access.require_visible_group(group))
            partition = JOB_OF_GROUP.pk.fill({"group": group})

        async def read_ids(part: Window) -> Slice[str]:
            query = Query(
                partition=partition,
                range=Range(_LISTED),
                after=None if part.after_id is None else Key(partition, _LISTED + part.after_id),
                descending=not part.backward,
                limit=part.size + 1,
            )
            found = await self.access.table.query(query)
            ids = [str(item["sk"]).removeprefix(_LISTED) for item in found.items]
            return make_slice(ids, part, str, more=found.last is not None)

        async def load_jobs(ids: Sequence[str]) -> list[Job | None]:
            found = await self.many(ids)
            return [
                one if isinstance(one, Job) and (not states or one.state in states) else None
                for one in found
            ]

        return await read_existing(window, read_ids, load_jobs)

    async def cancel(self, id: str) -> Job:
        """End a job of the caller that is not over; what it has done stays.

        Its worker stops within seconds. Raises NotFound, NotPermitted for the job of somebody else,
        and IllegalState for a job that is over or that deletes a group.
        """
        job = await self._one(id)
        if job.created_by != self.access.caller.user_id:
            raise NotPermitted("Only the user who requested a job can cancel it.")
        if job.kind is JobKind.DELETE_GROUP:
            words = "A group that is being deleted can no longer be used, so its deletion goes on."
            raise IllegalState(words, job.state.value.upper())
        cancelled = Update(
            key=JOB.key(id=id),
            set={"state": JobState.CANCELLED.value},
            condition=Exists(INDEX_HASH),
        )
        now = self.access.clock.now()
        try:
            await self.access.table.transact(ending_updates(job, cancelled, now))
        except ConditionFailed:
            job = await self._one(id)
            if job.state is not JobState.CANCELLED:
                raise IllegalState("The job is over.", job.state.value.upper()) from None
        return await self._one(id)

    async def follow(self, changes: RowChanges, id: str) -> AsyncGenerator[Job]:
        """Yield a job as it is now, then whenever it gets further, until it is over.

        A slow reader misses steps, but never the last. Ends when the caller may no longer see the
        job. Raises NotFound if they may not at the start.
        """
        job = await self._one(id)
        yield job
        with changes.watch(JOB.key(id=id), progress_of(job), read_revision=read_progress) as watch:
            while not job.is_over:
                row = await watch.next()
                found = not_found_error("job") if row is None else self._admit(row)
                if not isinstance(found, Job):
                    return
                job = found
                yield job

    async def _one(self, id: str) -> Job:
        (job,) = await self.many([id])
        if not isinstance(job, Job):
            raise job
        return job

    async def many(self, ids: Sequence[str]) -> list[Job | NotFound]:
        """Get jobs; one answer for each id, aligned."""
        rows = await find_job_rows(self.access.table, ids)
        return [not_found_error("job") if row is None else self._admit(row) for row in rows]

    def _admit(self, row: Attributes) -> Job | NotFound:
        job = read_or_report(read_job, row)
        if isinstance(job, Unreadable):
            own = row.get("createdBy") == self.access.caller.user_id
            return job if own else not_found_error("job")
        return job if self._may_follow(job) else not_found_error("job")

    def _may_follow(self, job: Job) -> bool:
        caller = self.access.caller
        if job.created_by == caller.user_id:
            return True
        return job.group is not None and caller.sees(job.group)
