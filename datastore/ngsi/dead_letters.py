"""Dead letters: events that could not be stored, each with its reason and its full content.

A replayed letter leaves the result of its replay for a day, so that a caller who did not get the
answer, or who came at the same time, gets the same one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.work import NOBODY, WorkPayer, notification_units
from penstock.datastore.clock import Clock
from penstock.datastore.errors import ErrorCode, PenstockError
from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.events import (
    DamagedLines,
    EntityUpdate,
    Json,
    LineFiles,
    SegmentStruct,
    delete_old_files,
    unpacked_size,
    write_json,
)
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.objects.port import Files
from penstock.datastore.records import StoredRecord as Record
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.table.commit import Write, already_done
from penstock.datastore.table.items import load, overwrite, read_rows, resource_id
from penstock.datastore.table.layout import DEAD_LETTER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_records
from penstock.datastore.table.port import (
    TTL,
    AllOf,
    Attributes,
    Delete,
    Exists,
    Item,
    Missing,
    Put,
    Query,
    Table,
)
from penstock.datastore.text import is_id

FOLDER: Final = "ngsi/dead-letters"
RESULT_LIFETIME: Final = timedelta(days=1)

_SUFFIX: Final = ".ndjson.gz"
_REPLAYED = "replayedEvents"
_WAITING = AllOf((Exists(), Missing(_REPLAYED)))
"""The condition that a letter was not replayed."""


REFUSED: Final = "The destination refuses it; the log of the server says why."


class Refusal(NamedTuple):
    """The reason why an event cannot be stored, as a code and as text."""

    code: ErrorCode
    reason: str

    @classmethod
    def from_error(cls, error: Exception) -> "Refusal":
        """The refusal by a failure; the words of AWS and of libraries are for the log alone."""
        if isinstance(error, PenstockError):
            return cls(error.code, error.message)
        return cls(ErrorCode.BAD_USER_INPUT, REFUSED)


class DeadEvent(SegmentStruct, frozen=True, array_like=True):
    """One event of a dead letter: an update, or the received JSON where no update could be read.

    An event that had a destination keeps it, because a part of the event may be stored there. The
    files of older servers have no codes.
    """

    service: str
    path: str
    at: int
    identity: str
    reason: str
    update: EntityUpdate | None = None
    payload: Json = None
    table: str | None = None
    persistence: Persistence | None = None
    code: ErrorCode | None = None
    time_index: str | None = None

    @classmethod
    def from_event(cls, event: Event, refusal: Refusal) -> "DeadEvent":
        # Nothing of the event is in a table of another program, so it need not go there again.
        elsewhere = refusal.code is ErrorCode.FOREIGN_TABLE
        return cls(
            event.service,
            event.path,
            event.at,
            event.identity,
            refusal.reason,
            event.update,
            None,
            None if elsewhere else event.table,
            None if elsewhere else event.persistence,
            refusal.code,
            event.time_index,
        )

    @property
    def event(self) -> Event | None:
        """The event as it was before it failed; None if it never had a destination."""
        if self.update is None or self.table is None or self.persistence is None:
            return None
        return Event(
            self.service,
            self.path,
            self.at,
            self.identity,
            self.table,
            self.persistence,
            self.update,
            self.time_index,
        )

    @property
    def entity(self) -> str:
        """The entity as JSON: as it was received, or in the normalized form of NGSIv2.

        An entity with several attributes of one name is in the form of NGSIv1.
        """
        sent = self.payload if self.update is None else normalized_entity(self.update)
        return write_json(sent).decode()


class DeadLetter(Record, frozen=True, kw_only=True):
    """Events of one service path that failed together; `reason` and `code` are the first event's.

    `first_seen` is the time at which the first event arrived, `created_at` the time at which
    the sink gave the events up.
    """

    id: str
    service: str
    path: str
    reason: str
    events: int
    attempts: int
    first_seen: str
    created_at: str
    file: str
    line: int
    code: ErrorCode | None = None

    @property
    def owns_file(self) -> bool:
        """Whether no other letter has its events in the same file."""
        return self.file.endswith(f"/{self.id}{_SUFFIX}")


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay: how many events will be stored, and how many are dead again."""

    letter: DeadLetter
    events: int
    dead: int


class LetterGone(Exception):
    """The letter was replayed in the meantime, or it is no longer there."""


def dead_letter_insert(letter: DeadLetter) -> Write:
    """The write that inserts the row of a new letter."""
    key = DEAD_LETTER.item(id=letter.id, service=letter.service, path=letter.path)
    return Write(Put({**key, **_letter_attributes(letter)}, Missing()), already_done)


def dead_letter_delete(letter: DeadLetter) -> Write:
    """The write that removes a letter; raises StaleRead if it is gone, or was replayed."""
    return Write(Delete(DEAD_LETTER.key(id=letter.id), _WAITING))


def replay_write(result: ReplayResult, clock: Clock) -> Write:
    """The write that puts a result in the place of its letter, which leaves the lists.

    Raises LetterGone if the letter was replayed already.
    """
    letter = result.letter
    pk, sk = DEAD_LETTER.key(id=letter.id)
    item: Item = {
        "pk": pk,
        "sk": sk,
        **_letter_attributes(letter),
        _REPLAYED: result.events,
        TTL: int((clock.now() + RESULT_LIFETIME).timestamp()),
    }
    return Write(overwrite(DeadLetter, item, _WAITING), lambda _: LetterGone())


async def list_letters(table: Table, at: ServicePathKey, window: Window) -> Slice[DeadLetter]:
    """List the letters of a service path, newest first: `siKey1 = NX:<service>:<path>`."""
    service, path = at
    query = Query(
        partition=DEAD_LETTER.index_partition(service=service, path=path),
        index=True,
        after=None if window.after is None else DEAD_LETTER.key(id=window.after),
        descending=not window.backward,
        limit=window.size + 1,
    )
    found = await read_records(table, query, _read_letter)
    return make_slice(found.records, window, lambda letter: letter.id, more=found.more)


async def find_letters(table: Table, ids: Sequence[str]) -> list[DeadLetter | ReplayResult | None]:
    """Read letters: consistent gets of `pk = NX:<id>, sk = NX`; aligned with the ids.

    In the place of a letter that was replayed is the result of its replay.
    """
    keys = {id: DEAD_LETTER.key(id=id) for id in ids if is_id(id)}
    rows = await read_rows(table, keys.values(), consistent=True)
    items = [rows.get(keys[id]) if id in keys else None for id in ids]
    return [None if item is None else _read_letter_or_result(item) for item in items]


@dataclass(frozen=True, slots=True)
class LetterFiles:
    """The files of dead letters, one for each.

    Letters that an older release made together share a file, in which each has a range of lines.
    """

    lines: LineFiles[DeadEvent]

    @classmethod
    def of(cls, files: Files) -> "LetterFiles":
        return cls(LineFiles.of(files, DeadEvent))

    async def write(self, clock: Clock, letter: str, dead: Sequence[DeadEvent]) -> str:
        """Write the events of a letter to a file of its own of this day; return its name."""
        file = f"{FOLDER}/{clock.now():%Y-%m-%d}/{letter}{_SUFFIX}"
        await self.lines.write(file, dead)
        return file

    async def read(self, letter: DeadLetter, payer: WorkPayer = NOBODY) -> list[DeadEvent]:
        """Read the events of a letter from its file, at the turn of the user who pays for it.

        It is paid by its size before it is read, and again before it is unpacked. Raises
        RateLimited, NotFound and Unavailable.
        """
        stat = await self.lines.files.stat(letter.file)
        units = notification_units(0 if stat is None else stat.size)
        payer.work.spend_more(units)
        packed = await self.lines.read_packed(letter.file)
        whole = max(units, notification_units(unpacked_size(packed)))
        payer.work.spend_more(whole - units)
        found = await run_in_request_thread(
            lambda _: self.lines.unpack(letter.file, packed), payer._replace(prepaid=whole)
        )
        events = found[letter.line : letter.line + letter.events]
        if len(events) < letter.events:
            raise DamagedLines(f"The file {letter.file} has too few lines.")
        return events

    async def delete_before(self, moment: datetime) -> int:
        """Delete the files that were written on the days before; return their number.

        Files of releases that did not put them into a folder for each day stay.
        """
        return await delete_old_files(self.lines.files, FOLDER, moment)


def normalized_entity(update: EntityUpdate) -> Mapping[str, Any]:
    """An update as an NGSIv2 entity, or as a list of attributes if some share a name."""
    if len({attribute.name for attribute in update.attributes}) < len(update.attributes):
        return _legacy_entity(update)
    attributes = {
        attribute.name: {
            "type": attribute.type,
            "value": attribute.value,
            "metadata": {
                each.name: {"type": each.type, "value": each.value} for each in attribute.metadata
            },
        }
        for attribute in update.attributes
    }
    return {"id": update.entity_id, "type": update.entity_type, **attributes}


def _legacy_entity(update: EntityUpdate) -> Mapping[str, Any]:
    """An update as the context element of NGSIv1, which lists its attributes."""
    attributes = [
        {
            "name": attribute.name,
            "type": attribute.type,
            "value": attribute.value,
            "metadatas": [
                {"name": each.name, "type": each.type, "value": each.value}
                for each in attribute.metadata
            ],
        }
        for attribute in update.attributes
    ]
    element = {"id": update.entity_id, "type": update.entity_type, "attributes": attributes}
    return {"contextElement": element}


def _read_letter(item: Attributes) -> DeadLetter:
    return load(DeadLetter, item, id=resource_id(item))


def _read_letter_or_result(item: Attributes) -> DeadLetter | ReplayResult:
    letter = _read_letter(item)
    if _REPLAYED not in item:
        return letter
    stored = int(str(item[_REPLAYED]))
    return ReplayResult(letter, stored, letter.events - stored)


def _letter_attributes(letter: DeadLetter) -> Item:
    attributes: Item = msgspec.to_builtins(letter)
    del attributes["id"]
    return attributes
