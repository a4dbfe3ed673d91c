"""The sweep of a library: it deletes covers without a track, and annotations of deleted things.

Ids are never used again. So a thing that is missing when its annotation has been read is gone for
good, and the annotation can be deleted without a condition. Albums and artists do come back, with
a track that names them: their annotations stay.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.library_rows import HELD_UNTIL, LATEST, SINCE, upkeep_key
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.records import Kind
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.periodic import finish_all
from penstock.datastore.roles import Caller
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import (
    ALBUM,
    ANNOTATION,
    AUDIO,
    FAVOURITE,
    LIBRARY_UPKEEP,
    PLAY,
    PLAYLIST_MEMBER,
    Row,
)
from penstock.datastore.table.limits import WRITE_OPERATIONS
from penstock.datastore.table.pages import query_items, query_pages
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    ConditionFailed,
    Delete,
    Exists,
    Key,
    Missing,
    Query,
    Range,
    Update,
    key_of,
)
from penstock.datastore.text import unescape

LEASE_TIME: Final = timedelta(minutes=30)
"""The time after which a process that sweeps a library counts as dead."""

REST: Final = timedelta(hours=1)
"""The time from a reason to the sweep, in which calls that were under way have ended."""


class _Reference(NamedTuple):
    """A row about a thing of the library, and the key of the thing's own row."""

    row: Key
    thing: Key


async def sweep_libraries(access: Access) -> int:
    """Sweep the libraries that rest since their reason; return the number of rows deleted."""
    query = Query(partition=LIBRARY_UPKEEP.index_partition(), index=True)
    before = iso_timestamp(access.clock.now() - REST)
    rows = [row async for row in query_items(access.table, query) if str(row[SINCE]) <= before]
    return await finish_all(partial(_sweep_library, access, row) for row in rows)


async def _sweep_library(access: Access, row: Attributes) -> int:
    user = unescape(LIBRARY_UPKEEP.pk.parse(str(row["pk"]))["user"])
    own = replace(access, caller=Caller(user, {}))
    if not await _take_library(own, row):
        return 0
    return await LibrarySweep(own).run(str(row[LATEST]))


async def _take_library(access: Access, row: Attributes) -> bool:
    """Take the library for LEASE_TIME; False if another process has it or has swept it."""
    now = access.clock.now()
    free = AnyOf((Missing(HELD_UNTIL), Compare(HELD_UNTIL, "<", iso_timestamp(now))))
    lease = Update(
        key=key_of(row),
        set={HELD_UNTIL: iso_timestamp(now + LEASE_TIME)},
        condition=AllOf((Compare(SINCE, "=", str(row[SINCE])), free)),
    )
    try:
        await access.table.transact([lease])
    except ConditionFailed:
        return False
    return True


@dataclass(frozen=True, slots=True)
class LibrarySweep:
    """The sweep of the caller's library."""

    access: Access

    async def run(self, latest: str) -> int:
        """Sweep once; `latest` is the latest reason, and a later one leads to another sweep."""
        swept = await self._sweep_references()
        complete = await self._sweep_covers()
        await self._settle(latest, complete=complete)
        return swept

    async def _sweep_covers(self) -> bool:
        if self.access.files is NO_FILES:
            return True
        covers = CoverStore(self.access)
        uses = await covers.uses()
        used = {
            str(item["artwork"])
            for row in (AUDIO, ALBUM)
            async for item in self._rows(row.sk.prefix({}))
            if item.get("artwork") is not None
        }
        return await covers.sweep(uses, used)

    async def _sweep_references(self) -> int:
        swept = 0
        for row in (ANNOTATION, FAVOURITE, PLAY):
            async for page in query_pages(self.access.table, self._query(row.sk.prefix({}))):
                references = [self._reference(row, item) for item in page]
                swept += await self._sweep_page([each for each in references if each is not None])
        return swept

    async def _sweep_page(self, references: Sequence[_Reference]) -> int:
        things = {reference.thing for reference in references}
        found = await read_rows(self.access.table, things, consistent=True)
        gone = [Delete(each.row) for each in references if each.thing not in found]
        for start in range(0, len(gone), WRITE_OPERATIONS):
            await self.access.table.write(gone[start : start + WRITE_OPERATIONS])
        return len(gone)

    def _reference(self, row: Row, item: Attributes) -> _Reference | None:
        """Return what the row refers to; None for albums and artists, which may come back."""
        parts = row.sk.parse(str(item["sk"]))
        if parts.get("kind") in (Kind.ALBUM, Kind.ARTIST):
            return None
        if row is PLAY or parts["kind"] == Kind.AUDIO:
            thing = AUDIO.key(user=self._user, audio=parts["audio" if row is PLAY else "id"])
        else:
            thing = PLAYLIST_MEMBER.key(user=self._user, playlist=parts["id"])
        return _Reference(key_of(item), thing)

    def _rows(self, prefix: str) -> AsyncIterator[Attributes]:
        return query_items(self.access.table, self._query(prefix))

    def _query(self, prefix: str) -> Query:
        pk = AUDIO.pk.fill({"user": self._user})
        return Query(partition=pk, range=Range(prefix), consistent=True)

    async def _settle(self, latest: str, *, complete: bool) -> None:
        """Delete the row of the library, or let it rest again if there is more to sweep."""
        key, now = upkeep_key(self._user), self.access.clock.timestamp()
        if complete:
            with suppress(ConditionFailed):
                await self.access.table.transact([Delete(key, Compare(LATEST, "=", latest))])
                return
        with suppress(ConditionFailed):
            await self.access.table.transact(
                [Update(key=key, set={SINCE: now}, remove=(HELD_UNTIL,), condition=Exists())]
            )

    @property
    def _user(self) -> str:
        return self.access.caller.user_id
