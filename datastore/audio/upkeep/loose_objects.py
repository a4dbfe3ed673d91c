"""Objects of the server's bucket that no track refers to: not yet, or no longer.

Each has a row from before it exists: an upload, a copy for a new track, or the object of a deleted
track. The transaction that adds a track takes the object out of the rows. The sweep marks a row
before it deletes the object, and the mark stays for a day. So a transaction that comes too late
fails, and no track ever refers to a swept object.
"""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import object_hash
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import NotFound, ObjectTaken, PenstockError, Unavailable
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import LOOSE_OBJECT
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    INDEX_HASH,
    TTL,
    AllOf,
    Attributes,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Update,
)

COPY_TIME: Final = timedelta(hours=1)
"""The time after which the registration that made a copy counts as dead."""

MARK_TIME: Final = timedelta(days=1)
REGISTERED: Final = "audioId"
SWEPT: Final = "swept"
UPLOAD: Final = "upload"

logger = logging.getLogger("penstock.audio")


def loose_key(key: str) -> Key:
    """The key of the row of an object."""
    return LOOSE_OBJECT.key(hash=object_hash(key))


def loose_item(access: Access, key: str, keep_for: timedelta, *, is_upload: bool = False) -> Item:
    """The row of an object that the sweep deletes after a time, unless a track has it by then.

    An upload is an object that a form can write.
    """
    until = iso_timestamp(access.clock.now() + keep_for)
    row: Item = {**LOOSE_OBJECT.item(hash=object_hash(key)), "key": key, "until": until}
    return {**row, UPLOAD: True} if is_upload else row


def no_object() -> NotFound:
    return NotFound("There is no such object.", ("objectKey",))


def take_in_place(key: str) -> Write:
    """The write of a track that has an object without a row, or one that a delete left behind."""
    return Write(Delete(loose_key(key), Missing(SWEPT)), lambda _: no_object())


def take_copy(key: str) -> Write:
    """The write of a track that has a copy."""
    words = "The registration took too long."
    kept = AllOf((Exists(), Missing(SWEPT)))
    return Write(Delete(loose_key(key), kept), lambda _: Unavailable(words))


def use_upload(key: str, audio_id: str) -> Write:
    """The write of a track whose object is a copy of an upload; it is the only one of the upload.

    The row stays until no form can write the upload any more.
    """
    unused = AllOf((Exists(), Missing(REGISTERED), Missing(SWEPT)))
    update = Update(key=loose_key(key), set={REGISTERED: audio_id}, condition=unused)
    return Write(update, upload_failure)


def upload_failure(standing: Attributes | None) -> NotFound | ObjectTaken:
    """The failure of a registration whose upload was used or swept before."""
    if standing is not None and REGISTERED in standing:
        return ObjectTaken(str(standing[REGISTERED]))
    return no_object()


@dataclass(frozen=True, slots=True)
class LooseObjects:
    """The objects of the server's bucket that no track of the caller refers to."""

    access: Access

    async def note(self, key: str, keep_for: timedelta, *, is_upload: bool = False) -> None:
        """Write the row of an object that is about to be made."""
        row = loose_item(self.access, key, keep_for, is_upload=is_upload)
        await self.access.table.transact([Put(row)])

    async def try_drop(self, key: str) -> None:
        """Delete an object now unless a track has it; a failure leaves it to the sweep."""
        try:
            await self.drop(key)
        except PenstockError as error:
            logger.warning("an object that nothing uses stays for now: %s", error.message)

    async def try_delete_upload(self, key: str) -> None:
        """Delete an upload that a track has a copy of; its row stays as long as the form."""
        try:
            await self.access.files.delete(key)
        except PenstockError as error:
            logger.warning("an upload stays until it is swept: %s", error.message)

    async def drop(self, key: str) -> None:
        """Mark the row, delete the object, and take the row out of the list."""
        row = loose_key(key)
        try:
            await self.access.table.transact(
                [Update(key=row, set={SWEPT: True}, condition=Exists())]
            )
        except ConditionFailed:
            return
        await self.access.files.delete(key)
        ends = int((self.access.clock.now() + MARK_TIME).timestamp())
        await self.access.table.transact(
            [Update(key=row, set={TTL: ends}, remove=(INDEX_HASH, "until"))]
        )

    async def sweep(self) -> int:
        """Delete the objects whose time is over; return their number."""
        now = self.access.clock.timestamp()
        old = [str(row["key"]) async for row in self._rows() if str(row["until"]) <= now]
        for key in old:
            await self.drop(key)
        return len(old)

    def _rows(self) -> AsyncIterator[Attributes]:
        query = Query(partition=LOOSE_OBJECT.index_partition(), index=True)
        return query_items(self.access.table, query)
