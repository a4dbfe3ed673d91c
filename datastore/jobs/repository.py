"""The jobs that a caller may follow: found by id, listed, and cancelled."""

from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, replace
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
from penstock.datastore.roles import GroupPath, Role, ancestors, covers
from penstock.datastore.table.items import read_or_report
from penstock.datastore.table.layout import JOB, JOB_AT_GROUP, JOB_OF_GROUP, JOB_OF_USER
from penstock.datastore.table.merged_pages import QueryRange, read_merged_page
from penstock.datastore.table.pages import Slice, Window, read_existing
from penstock.datastore.table.port import (
    INDEX_HASH,
    Attributes,
    ConditionFailed,
    Exists,
    Query,
    Range,
    Update,
)

_LISTED: Final = JOB_OF_USER.sk.prefix({})


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs that the caller may see: about groups they may know, or their own about none."""

    access: Access

    async def page(
        self, group: GroupPath | None, states: Collection[JobState], window: Window
    ) -> Slice[Job]:
        """List the jobs of the caller, `pk = JU:<user>`, or of a group and those below it.

        The newest is first; `states` choose some of them. Raises NotFound for a group that the
        caller may not know of, or that does not exist.
        """
        if group is None:
            partitions = [JOB_OF_USER.pk.fill({"user": self.access.caller.user_id})]
        else:
            await self.access.require_group(self.access.require_visible_group(group))
            partitions = self._visible_lists(group)
        self.access.payments.promise_calls(len(partitions))
        lanes = [self._lane(partition, window) for partition in partitions]

        async def read_ids(part: Window) -> Slice[str]:
            placed = None if part.after_id is None else _LISTED + part.after_id
            found = await read_merged_page(lanes, replace(part, after=placed), 1, _listed_id)
            ids = tuple((id, id) for _, id in found.entries)
            reached = None if found.reached is None else found.reached.removeprefix(_LISTED)
            return Slice(ids, found.more, reached)

        async def load_jobs(ids: Sequence[str]) -> list[Job | None]:
            found = await self.many(ids)
            return [
                one if isinstance(one, Job) and (not states or one.state in states) else None
                for one in found
            ]

        return await read_existing(window, read_ids, load_jobs)

    def _visible_lists(self, group: GroupPath) -> list[str]:
        """The partitions of the jobs about a group and those below it, without hidden ones.

        With a role at the group, or above it: `pk = JG:<group>`. Otherwise that of each group below
        it at which the caller has a role, and `pk = JA:<group>` of the groups that lead there: what
        is read for others would show that there is something.
        """
        held = self.access.caller.roles
        if any(covers(one, group) for one in held):
            return [JOB_OF_GROUP.pk.fill({"group": group})]
        below = {one for one in held if covers(group, one)}
        tops = {one for one in below if below.isdisjoint(ancestors(one)[:-1])}
        leading = {above for one in tops for above in ancestors(one)[:-1] if covers(group, above)}
        whole = [JOB_OF_GROUP.pk.fill({"group": one}) for one in sorted(tops)]
        return [*whole, *(JOB_AT_GROUP.pk.fill({"group": one}) for one in sorted(leading))]

    def _lane(self, partition: str, window: Window) -> QueryRange:
        listed = Query(partition=partition, range=Range(_LISTED), descending=not window.backward)
        return QueryRange(self.access.table, listed)

    async def cancel(self, id: str) -> Job:
        """End a job of the caller that is not over; what it has done stays.

        Its worker stops within seconds. Raises NotFound, NotPermitted for the job of somebody else
        or about a group to which the caller does not contribute, and IllegalState for a job that is
        over or that deletes a group.
        """
        job = await self._one(id)
        if job.created_by != self.access.caller.user_id:
            raise NotPermitted("Only the user who requested a job can cancel it.")
        if job.group is not None:
            self.access.require_role(Role.CONTRIBUTOR, job.group)
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
        if job.group is None:
            return job.created_by == caller.user_id
        return caller.sees(job.group)


def _listed_id(item: Attributes) -> str:
    return str(item["sk"]).removeprefix(_LISTED)
