"""The work of an import, in steps that may be repeated: what the library holds is not read again.

A worker who goes on after another begins at the cursor, the last object that was dealt with.
"""

from asyncio import Semaphore, gather, get_running_loop, sleep
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.audio.adding import Adding, Draft
from penstock.datastore.audio.importing import failure_item
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.registering import Registering
from penstock.datastore.audio.source import Source
from penstock.datastore.audio.sources import Sources
from penstock.datastore.errors import (
    IllegalState,
    LimitExceeded,
    ObjectTaken,
    PenstockError,
    Unavailable,
)
from penstock.datastore.files import LISTING
from penstock.datastore.layout import AUDIO_BY_BUCKET
from penstock.datastore.leases import Lease
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.resources.scope import Scope
from penstock.datastore.table import Put

MAX_OBJECTS: Final = 100_000
STEP: Final = 20
AT_ONCE: Final = 4
PACE_SECONDS: Final = 0.01
"""For each track: about 900 of the 1,000 units that one partition takes in a second."""

SHARE_SECONDS: Final = 30
"""How long an import runs before other jobs get their turn."""


async def import_audio(scope: Scope, lease: Lease, sources: Sources) -> None:
    """Do the job of a lease, in the scope of whoever began it."""
    await _Import(scope, lease, sources, Semaphore(AT_ONCE)).run()


@dataclass(frozen=True, slots=True)
class _Import:
    """One import; so many files are read at once as `reading` lets through."""

    scope: Scope
    lease: Lease
    sources: Sources
    reading: Semaphore

    async def run(self) -> None:
        """Take in object by object; now and then others get a turn."""
        clock = get_running_loop().time
        began = clock()
        if self.lease.total is None:
            await self.lease.plan(await self._count())
        while keys := await self._list(self.lease.cursor or ""):
            for start in range(0, len(keys), STEP):
                step = keys[start : start + STEP]
                stepped = clock()
                added = await self._take_in(step)
                await self.lease.advance(len(step), step[-1])
                await sleep(max(0.0, added * PACE_SECONDS - (clock() - stepped)))
                if clock() - began >= SHARE_SECONDS:
                    await self.lease.pause()

    async def _count(self) -> int:
        count, after = 0, ""
        while keys := await self._list(after):
            count, after = count + len(keys), keys[-1]
            if count > MAX_OBJECTS:
                raise LimitExceeded("objects of an import", MAX_OBJECTS, count)
            await self.lease.advance()
        return count

    async def _list(self, after: str) -> tuple[str, ...]:
        async with self.sources.of(self.lease.job.connection) as source:
            return await source.list(self.lease.job.prefix or "", after, LISTING)

    async def _take_in(self, keys: Sequence[str]) -> int:
        """Read and add what is new of these; how many tracks that were."""
        async with self.sources.of(self.lease.job.connection) as source:
            new = await self._new(source.bucket, keys)
            found = await gather(*(self._read(source, key) for key in new))
        failures: dict[str, PenstockError] = {}
        drafts: list[Draft] = []
        for key, outcome in zip(new, found, strict=True):
            if isinstance(outcome, Draft):
                drafts.append(outcome)
            elif isinstance(outcome, IllegalState | Unavailable):
                raise outcome  # it is about the bucket, not about this object
            else:
                failures[key] = outcome
        return await self._add(drafts, failures)

    async def _add(self, drafts: Sequence[Draft], failures: dict[str, PenstockError]) -> int:
        """Add what was read and tell what could not be; how many tracks were added."""
        outcomes = await Adding(self.scope).add_many(drafts)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if isinstance(outcome, PenstockError) and not isinstance(outcome, ObjectTaken):
                failures[draft.file.object_key] = outcome
        await self._report(failures)
        return sum(isinstance(outcome, Audio) for outcome in outcomes)

    async def _report(self, failures: Mapping[str, PenstockError]) -> None:
        job = self.lease.job.id
        rows = [failure_item(self.scope, job, key, error) for key, error in failures.items()]
        if rows:
            await self.scope.table.write([Put(row) for row in rows])

    async def _new(self, bucket: str, keys: Sequence[str]) -> list[str]:
        """Those that the library does not hold; what ends in a slash is no object but a folder."""
        user = self.scope.caller.user_id
        claims = {
            AUDIO_BY_BUCKET.key(user=user, bucket=bucket, hash=object_hash(key)): key
            for key in keys
            if not key.endswith("/")
        }
        held = await read_rows(self.scope.table, claims, consistent=True)
        return [key for claim, key in claims.items() if claim not in held]

    async def _read(self, source: Source, key: str) -> Draft | PenstockError:
        """Read what is to be added, or what hinders it."""
        async with self.reading:
            try:
                registering = Registering(self.scope, self.sources)
                return await registering.draft(source, key, self.lease.job.connection)
            except PenstockError as error:
                return error
