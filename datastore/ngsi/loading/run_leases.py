"""The leases of the runs that a process is storing.

They are renewed every third of their time. A process that was paused for longer looks before it
stores anything which runs others have taken: what these have stored may have been deleted since.
"""

from asyncio import Lock
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from penstock.datastore.errors import IllegalState
from penstock.datastore.ngsi.commit import BatchCommitter
from penstock.datastore.ngsi.loading.open_runs import OpenRun
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.segments.shared_runs import SharedRun


@dataclass(slots=True)
class RunLeases:
    """Renews the leases of the open runs, and marks those as lost that another worker holds."""

    committer: BatchCommitter
    open_runs: Collection[OpenRun]
    _kept_at: datetime = field(init=False)
    _one_at_a_time: Lock = field(default_factory=Lock, init=False)

    def __post_init__(self) -> None:
        self._kept_at = self._now

    async def renew(self) -> Sequence[SharedRun]:
        """Renew the leases of all runs, and return the shared ones that are done."""
        async with self._one_at_a_time:
            return await self._renew()

    async def keep(self) -> None:
        """Renew the leases if one of them is over."""
        async with self._one_at_a_time:
            if self._is_one_over():
                await self._renew()

    async def _renew(self) -> Sequence[SharedRun]:
        now, segments, was_paused = self._now, self.committer.segments, self._is_one_over()
        held = {id(shared) for shared in segments.runs.values() if not shared.lost}
        try:
            for opened in list(self.open_runs):
                if opened.segment.shared is None:
                    await self._renew_single(opened)
            done = await segments.renew_leases()
        finally:
            if was_paused:
                self._give_up(held)
        self._kept_at = now
        return done

    async def _renew_single(self, opened: OpenRun) -> None:
        try:
            await self.committer.run_log.renew_lease(opened.run)
        except IllegalState:
            opened.lost = True

    def _give_up(self, held: Container[int]) -> None:
        """Leave the segments of shared runs that were `held` to the workers that have taken them.

        Without a pause both store them, and one of the two settles each.
        """
        for opened in self.open_runs:
            shared = opened.segment.shared
            if shared is not None and shared.lost and id(shared) in held:
                opened.lost = True

    @property
    def _now(self) -> datetime:
        return self.committer.clock.now()

    def _is_one_over(self) -> bool:
        """Whether the lease of a run is over, by its row and by the last renewal of all."""
        now = self._now
        if now - self._kept_at <= timedelta(seconds=self.committer.run_log.lease_seconds):
            return False
        runs = [
            each.run if each.segment.shared is None else each.segment.shared.run
            for each in self.open_runs
        ]
        return any((run.lease_until or 0) < now.timestamp() for run in runs)

    def without_lost(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events of a batch without those of lost runs, which other workers store."""
        lost = {
            id(event)
            for opened in self.open_runs
            if opened.lost
            for event in opened.segment.content.events
        }
        return [event for event in events if id(event) not in lost] if lost else events
