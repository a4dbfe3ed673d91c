"""The sweep of the sink: it removes old segments, runs, dead letters and large values.

Every server sweeps. A sweep works in small transactions, each under the condition that what it
removes is as it was read; so sweeps of several servers, and interrupted ones, change no count.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import NotFound
from penstock.datastore.manifest.delete import delete_runs
from penstock.datastore.manifest.lists import RunListFilter, RunLists
from penstock.datastore.manifest.records import RunState
from penstock.datastore.ngsi.commit import BatchCommitter
from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.dead_letters import DeadLetter, dead_letter_delete, list_letters
from penstock.datastore.ngsi.directory import walk_service_paths
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.options import RetentionTimes
from penstock.datastore.ngsi.run_log import MANIFEST, RunLog
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import StaleRead, commit
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table

_FILE_MARGIN: Final = timedelta(days=1)
_PAGE = 100


@dataclass(frozen=True, slots=True)
class RetentionSweep:
    """The removal of what the sink has kept long enough; any server may do it at any time."""

    committer: BatchCommitter
    times: RetentionTimes

    async def remove_old(self) -> int:
        """Remove all that is too old, the rows before their files; return how much it was."""
        times, log = self.times, self.committer.run_log
        works: list[Callable[[], Awaitable[int]]] = []
        works.append(self._remove_segments)
        works.append(self._remove_values)
        if times.runs is not None:
            works.append(partial(remove_old_runs, log, max(times.runs, times.segments)))
        if times.letters is not None:
            works.append(partial(remove_old_letters, self.committer, times.letters))
        return await finish_all(works)

    async def _remove_values(self) -> int:
        """Remove the large values of samples that have expired."""
        committer = self.committer
        values = LargeValues(committer.letter_files.lines.files)
        return await values.delete_expired(committer.clock.now())

    async def _remove_segments(self) -> int:
        """Remove old files of segments, of which none is late any more, and notes of ended runs."""
        await sweep_segments(self.committer.segments)
        return await self.committer.run_log.delete_old_segments(self.times.segments)


async def remove_old_runs(run_log: RunLog, keep: timedelta) -> int:
    """Remove the runs that were loaded longer ago than `keep`; return their number.

    `pk = RL:<manifest>:LOADED`, from the oldest. Runs that are not loaded stay: a person must
    decide about them.
    """
    removed, access = 0, run_log.access
    until = access.clock.now() - keep
    listed = RunListFilter(state=RunState.LOADED, end=until)
    window: Window | None = Window(size=_PAGE)
    while window is not None:
        try:
            page = await RunLists(run_log.runs).page(MANIFEST, listed, window)
        except NotFound:
            # The manifest does not exist before its first run.
            return removed
        old = [run for _, run in page.entries if (run.loaded_at or 0) < until.timestamp()]
        removed += await delete_runs(access, old)
        window = Window(size=_PAGE, after=page.reached) if page.more else None
    return removed


async def remove_old_letters(committer: BatchCommitter, keep: timedelta) -> int:
    """Remove the dead letters that are older than `keep`, and their files; return their number.

    `siKey1 = NX:<service>:<path>` of each service path, from the oldest. The counts stay: the
    events were received, and were not stored.
    """
    until = committer.clock.now() - keep
    removed = 0
    async for at in walk_service_paths(committer.run_log.access):
        removed += await _remove_letters_of(committer.table, at, iso_timestamp(until))
    # Letters that are written at this moment have newer files.
    await committer.letter_files.delete_before(until - _FILE_MARGIN)
    return removed


async def _remove_letters_of(table: Table, at: ServicePathKey, until: str) -> int:
    removed = 0
    window: Window | None = Window(size=_PAGE, backward=True)
    while window is not None:
        page = await list_letters(table, at, window)
        old = [letter for _, letter in page.entries if letter.created_at < until]
        for letter in old:
            removed += await _remove_letter(table, letter)
        done = len(old) < len(page.entries) or not page.more
        window = None if done else Window(size=_PAGE, after=old[0].id, backward=True)
    return removed


async def _remove_letter(table: Table, letter: DeadLetter) -> bool:
    """Remove a letter; False if another server did so, or if it was replayed."""
    try:
        await commit(table, [dead_letter_delete(letter)])
    except StaleRead:
        return False
    return True
