"""Objects of the server's bucket that no track refers to: not yet, or no longer.

Each has a row from before it exists: an upload, a copy for a new track, a converted copy of a
track, or the object of a deleted track. A second row puts it into the queue of the sweep. The
transaction that adds a track takes the object out of the rows. The sweep marks a row before it
deletes the object, and the mark stays for days. So a transaction that comes too late fails, and no
track ever refers to a swept object.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.access.ended_uploads import USED
from penstock.datastore.access.open_uploads import SLOW_UPLOAD
from penstock.datastore.access.upload_forms import FORM_TIME
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.upkeep.counted_copies import CountedCopy, drop_copy
from penstock.datastore.audio.upkeep.swept_objects import SWEPT, sweep_object
from penstock.datastore.errors import NotFound, ObjectTaken, PenstockError, Unavailable
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import Attempts, Write
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import LOOSE_OBJECT, LOOSE_OBJECT_DUE
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    TTL,
    AllOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Update,
    key_of,
)

COPY_TIME: Final = timedelta(hours=1)
"""The time after which the registration that made a copy counts as dead."""

UNUSED_TIME: Final = timedelta(days=1)
"""The time for which an upload is kept after its form has expired."""

SENT_AGAIN_TIME: Final = FORM_TIME + SLOW_UPLOAD
"""The time after which no store takes a file of a form: what was used, and sent again, is swept."""

CONTENT: Final = "content"
COPY: Final = "copy"
DUE: Final = "due"
REGISTERED: Final = "audioId"
UPLOAD: Final = "upload"
"""Set for an object that a form can write."""

logger = logging.getLogger("penstock.audio")


def loose_key(key: str) -> Key:
    """The key of the row of an object."""
    return LOOSE_OBJECT.key(hash=object_hash(key))


def loose_rows(access: Access, key: str, keep_for: timedelta) -> list[Item]:
    """The rows of an object that the sweep deletes after a time, unless a track has it by then."""
    due = _due_row(access, key, keep_for)
    return [{**LOOSE_OBJECT.item(hash=object_hash(key)), DUE: due[DUE]}, due]


def due_row(key: str, due: int) -> Item:
    """The row by which the sweep finds an object, from a time in milliseconds on."""
    return {**LOOSE_OBJECT_DUE.item(due=due, hash=object_hash(key)), "key": key, DUE: due}


def _due_row(access: Access, key: str, keep_for: timedelta) -> Item:
    return due_row(key, int((access.clock.now() + keep_for).timestamp() * 1000))


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

    async def note_upload(self, key: str) -> None:
        """Write the rows of an upload for which a form is given now."""
        rows = loose_rows(self.access, key, FORM_TIME + UNUSED_TIME)
        rows[0][UPLOAD] = True
        rows.append(_due_row(self.access, key, SENT_AGAIN_TIME))
        await self.access.table.transact([Put(row) for row in rows])

    async def note_use(self, key: str) -> None:
        """Note that an upload was used, which may happen again, unless it was swept."""
        there = AllOf((Exists(), Missing(SWEPT)))
        used = {USED: self.access.clock.timestamp()}
        update = Update(key=loose_key(key), set=used, condition=there)
        with suppress(ConditionFailed):
            await self.access.table.transact([update])

    async def begin_copy(self, upload: str, content: str, name: str) -> str:
        """Note a copy of an upload's content; return its key.

        The key is `name`, or the one that a call noted which was cut off: an upload has one copy of
        a content. `content` is the entity tag. Raises ObjectTaken if a track has the upload.
        """
        unchanged: Condition = Missing(COPY)
        async for _ in Attempts():
            try:
                await self._note_copy(upload, content, name, unchanged)
            except ConditionFailed:
                row = loose_key(upload)
                held = (await read_rows(self.access.table, [row], consistent=True)).get(row)
                if held is None or SWEPT in held or REGISTERED in held:
                    raise upload_failure(held) from None
            else:
                return name
            copy = str(held.get(COPY, ""))
            if held.get(CONTENT) == content and await self._renew_copy(copy):
                return copy
            unchanged = Compare(COPY, "=", copy) if copy else Missing(COPY)
        raise Unavailable("The upload is being registered by many at once.")

    async def _note_copy(self, upload: str, content: str, name: str, unchanged: Condition) -> None:
        free = AllOf((Exists(), Missing(REGISTERED), Missing(SWEPT), unchanged))
        noted = Update(key=loose_key(upload), set={COPY: name, CONTENT: content}, condition=free)
        rows = loose_rows(self.access, name, COPY_TIME)
        await self.access.table.transact([noted, *map(Put, rows)])

    async def _renew_copy(self, copy: str) -> bool:
        """Keep a copy for another COPY_TIME; False if it was swept, or if a track has it."""
        due = _due_row(self.access, copy, COPY_TIME)
        kept = AllOf((Exists(), Missing(SWEPT)))
        renewed = Update(key=loose_key(copy), set={DUE: due[DUE]}, condition=kept)
        try:
            await self.access.table.transact([renewed, Put(due)])
        except ConditionFailed:
            return False
        return True

    async def try_drop(self, key: str) -> None:
        """Delete an object now unless a track has it; a failure leaves it to the sweep."""
        try:
            await self.drop(key)
        except PenstockError as error:
            logger.warning("an object that nothing uses stays for now: %s", error.message)

    async def try_delete_upload(self, key: str) -> None:
        """Delete an upload that a track has a copy of, and refuse what its form would still send.

        Its row stays as long as the form.
        """
        try:
            await self.access.files.refuse_uploads(key)
            await self.access.files.delete(key)
        except PenstockError as error:
            logger.warning("an upload stays until it is swept: %s", error.message)

    async def drop(self, key: str) -> bool:
        """Delete an object unless a track has it."""
        return await sweep_object(self.access, loose_key(key), Exists(), key)

    async def _drop_held(self, key: str, held: Attributes) -> bool:
        """Delete an object, and give back what it counts; False for one that was renewed."""
        copy = CountedCopy.of(held)
        if copy is None:
            return await self.drop(key)
        return await drop_copy(self.access, key, copy, copy.in_place)

    async def sweep(self) -> int:
        """Delete the objects whose time is over; return their number."""
        row, now = LOOSE_OBJECT_DUE, int(self.access.clock.now().timestamp() * 1000)
        query = Query(
            partition=row.index_partition(),
            index=True,
            range=Range(row.pk.prefix({}), None, row.pk.prefix({"due": now + 1})),
        )
        due = [item async for item in query_items(self.access.table, query)]
        return await finish_all(partial(self._sweep_due, item) for item in due)

    async def _sweep_due(self, due: Attributes) -> bool:
        """Drop an object of the queue, unless it was dropped or renewed; then take it out."""
        row = loose_key(str(due["key"]))
        held = (await read_rows(self.access.table, [row], consistent=True)).get(row)
        is_over = held is not None and TTL not in held and _is_over(held, due)
        swept = held is not None and is_over and await self._drop_held(str(due["key"]), held)
        await self.access.table.transact([Delete(key_of(due))])
        return swept


def _is_over(held: Attributes, due: Attributes) -> bool:
    """Whether an object was not renewed; an upload that was used waits for nothing any more."""
    is_used = REGISTERED in held or USED in held
    return is_used or int(str(held[DUE])) <= int(str(due[DUE]))
