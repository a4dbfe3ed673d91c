"""The sink's manifest: one run for each segment, from its creation until it is loaded.

A segment holds events that were already read and checked. Its run therefore enters the manifest in
the state LOADING, leased to the worker that wrote it. If that worker dies, another one claims the
run. The history of a run begins with the first event that is out of the ordinary, such as this.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import IllegalState, NotFound, Unreadable
from penstock.datastore.manifest.insert import insert_run
from penstock.datastore.manifest.lists import RunListFilter, RunLists
from penstock.datastore.manifest.records import ManifestName, Run, RunName, RunState, Stage
from penstock.datastore.manifest.run_reports import report_first_claim
from penstock.datastore.manifest.runs import Runs
from penstock.datastore.manifest.transitions import Changes, Claim, Fail, Heartbeat, MarkLoaded
from penstock.datastore.ngsi.events import LineFiles, walk_old_files
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.run_counts import EVENTS, count_arrivals, count_segment, show_counts
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.table.commit import Write
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.pages import Window, walk_pages

MANIFEST: Final = ManifestName(ROOT, "ngsi")
FOLDER: Final = "ngsi/segments"
FILE: Final = "events.ndjson.gz"
SINK_CALLER: Final = Caller("ngsi-sink", {ROOT: Role.ADMIN})
LEASE_SECONDS: Final = 60
_SEGMENT: Final = re.compile(r"events\.ndjson\.gz|[\w-]+\.\d\d\.(intake\.)?ndjson\.gz", re.ASCII)

MAX_TABLES: Final = 1000
"""The tables that a run names."""

_MAX_CLAIMED = 20
_MAX_FAILED = 500
"""Failed runs that are looked at; few are, and most of them wait for a decision."""
_PAGE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSegments(MarkLoaded):
    """All segments of a run are settled; their samples are in these tables."""

    tables: tuple[str, ...]

    def changes(self, run: Run, now: int) -> Changes:
        return MarkLoaded.changes(self, run, now) | {"shred_types": self.tables}


@dataclass(frozen=True, slots=True)
class RunLog:
    """The runs of segments, as one worker of the sink sees them.

    `storage_name` is the name of the storage that readers of the manifest see: a bucket's name.
    `written_by` is the program that the manifest names as the author of its runs.
    """

    access: Access
    lines: LineFiles[Event]
    worker: str
    storage_name: str
    written_by: str
    lease_seconds: int = LEASE_SECONDS

    @property
    def runs(self) -> Runs:
        return Runs(self.access)

    async def write_segment(self, events: Sequence[Event], intake: Mapping[str, int]) -> Run:
        """Write a segment and return its run, which is not yet in the manifest."""
        tables = dict.fromkeys(event.table for event in events)
        run = replace(
            self.new_shared_run(),
            shred_types=tuple(tables)[:MAX_TABLES],
            counts=show_counts(count_arrivals(events, intake)),
        )
        await self.lines.write(run.run_id + FILE, events)
        return run

    def new_empty_run(self, intake: Mapping[str, int]) -> Run:
        """A loaded run without a segment, of a batch without events."""
        run = self.new_shared_run()
        return replace(
            run,
            state=RunState.LOADED,
            loaded_at=run.added_at,
            loaded_by=self.written_by,
            lease_owner=None,
            lease_until=None,
            counts=show_counts(count_segment((), intake)),
        )

    def new_shared_run(self) -> Run:
        """A run for several segments, which is not yet in the manifest; it has no counts yet."""
        now = self.access.clock.now()
        id = self.access.clock.new_id()
        folder = f"{FOLDER}/{now:%Y-%m-%d}/{id}/"
        seconds = int(now.timestamp())
        return Run(
            id=id,
            shard=choose_shard(id, self.access.shards),
            group=MANIFEST.group,
            manifest=MANIFEST.name,
            run_id=folder,
            added_at=seconds,
            added_by=self.written_by,
            to_skip=False,
            processed_at=seconds,
            shred_types=(),
            saved_to=f"s3://{self.storage_name}/{folder}",
            state=RunState.LOADING,
            version=1,
            fence=1,
            attempt=1,
            lease_owner=self.worker,
            lease_until=seconds + self.lease_seconds,
            pipeline=MANIFEST.name,
        )

    async def insert_run(self, run: Run, extra_writes: Sequence[Write]) -> None:
        """Insert a run into the manifest; from then on its events are durable."""
        await insert_run(self.runs.access, run, None, extra_writes)
        if run.is_leased(run.added_at):
            report_first_claim(self.access, run)

    async def list_files(self, run: Run) -> list[str]:
        """List the files of a run's segments, oldest first; raises NotFound if there are none.

        There are no more than a page holds. Other objects in the run's folder are not ours.
        """
        found = await self.lines.files.list(run.run_id)
        files = [key for key in found if _SEGMENT.fullmatch(key.removeprefix(run.run_id))]
        if not files:
            raise NotFound("The segments are gone.", ("runId",))
        return files

    async def renew_lease(self, run: Run) -> Run:
        """Renew the lease of a run; raises IllegalState if another worker holds it by now."""
        return await self.runs.change(
            run.name, Heartbeat(fence=run.fence, seconds=self.lease_seconds)
        )

    async def mark_loaded(
        self, run: Run, counts: dict[str, int], extra_writes: Sequence[Write]
    ) -> None:
        """Mark a run as loaded; raises IllegalState if another worker holds it by now."""
        transition = MarkLoaded(fence=run.fence, loaded_by=self.written_by, counts=counts)
        # What usually happens is told by the run's own row.
        await self.runs.change(run.name, transition, extra_writes, recorded=run.fence > 1)

    async def mark_segments_loaded(
        self, run: Run, tables: tuple[str, ...], counts: Mapping[str, int]
    ) -> None:
        """Mark a run of several segments as loaded; raises IllegalState if another has it."""
        transition = LoadSegments(
            fence=run.fence, loaded_by=self.written_by, counts=counts, tables=tables[:MAX_TABLES]
        )
        await self.runs.change(run.name, transition, recorded=run.fence > 1)

    async def mark_failed(self, run: Run, error: str) -> None:
        """Mark a run as failed, so that a person must decide about it."""
        await self.runs.change(run.name, Fail(fence=run.fence, error=error))

    async def delete_old_segments(self, keep: timedelta) -> int:
        """Delete the old segments that nobody needs, and return their number.

        These are segments of loaded runs and segments that never got a run.
        """
        deleted, moment = 0, self.access.clock.now() - keep
        async for files in walk_old_files(self.lines.files, FOLDER, moment):
            names = [RunName(MANIFEST, _folder_of(key)) for key in files]
            found = await self.runs.many(names)
            for file, run in zip(files, found, strict=True):
                if has_ended(run):
                    await self.lines.files.delete(file)
                    deleted += 1
        return deleted

    async def claim_abandoned(self) -> list[Run]:
        """Claim some of the runs that no worker holds, oldest first."""
        claimed: list[Run] = []
        try:
            runs = await self._list_unclaimed()
        except NotFound:
            # The manifest does not exist before its first run.
            return []
        for run in runs:
            claim = Claim(stage=Stage.LOAD, owner=self.worker, seconds=self.lease_seconds)
            try:
                claimed.append(await self.runs.change(run.name, claim))
            except IllegalState:
                continue
        return claimed

    async def _list_unclaimed(self) -> list[Run]:
        """List runs that are marked to be loaded (again), and runs whose worker died.

        Of those that failed, those that somebody lets workers try again.
        """
        lists, window = RunLists(self.runs), Window(size=_MAX_CLAIMED)
        marked = RunListFilter(state=RunState.PROCESSED, to_skip=False)
        failed = RunListFilter(state=RunState.FAILED, to_skip=False, due=True)
        found = [
            await lists.page(MANIFEST, marked, window),
            await lists.stale(MANIFEST, window),
            await lists.page(MANIFEST, failed, Window(size=_MAX_FAILED)),
        ]
        runs = [run for part in found for _, run in part.entries]
        return [run for run in runs if run.state is not RunState.FAILED or run.attempt == 0]


async def list_lone_runs(access: Access) -> set[str]:
    """The runs of single segments that are not stored yet: `pk = RL:<manifest>:LOADING`.

    The others that are being stored have no counts yet; rows of counts name their segments.
    """
    return {run.id for run in await read_lone_runs(access)}


async def read_lone_runs(access: Access) -> list[Run]:
    """Read the runs that `list_lone_runs` lists."""
    lists = RunLists(Runs(access))
    try:
        read_page = partial(lists.page, MANIFEST, RunListFilter(state=RunState.LOADING))
        return [run async for run in walk_pages(read_page, _PAGE) if EVENTS in (run.counts or {})]
    except NotFound:
        # The manifest does not exist before its first run.
        return []


def run_mark(run: Run) -> str:
    """The mark by which a row of counts names a run of the sink: `<day>/<id>`."""
    return run.run_id.removeprefix(f"{FOLDER}/").removesuffix("/")


def marked_run(mark: str) -> RunName:
    """The name of the run with this mark."""
    return RunName(MANIFEST, f"{FOLDER}/{mark}/")


def _folder_of(file: str) -> str:
    return file.removesuffix(file.rpartition("/")[2])


def has_ended(run: Run | NotFound) -> bool:
    """Whether nobody needs the run's files any more: it is loaded, or not there.

    About one that failed a person decides; one of a newer release may be in hand.
    """
    if isinstance(run, NotFound):
        return not isinstance(run, Unreadable)
    return run.state is RunState.LOADED
