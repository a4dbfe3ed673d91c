"""Additions to the caller's library: one track in one transaction, many grouped by album."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.derived_rows import (
    NO_ROWS,
    object_claim,
    object_taken,
    row_changes,
    track_rows,
)
from penstock.datastore.audio.object_keys import is_owned, owned_prefix
from penstock.datastore.audio.records import Audio, AudioFile, Tags
from penstock.datastore.audio.track_rules import file_problems, tag_problems
from penstock.datastore.audio.tracks import audio_item, new_audio
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.loose_objects import (
    REGISTERED,
    LooseObjects,
    loose_key,
    no_object,
    take_copy,
    take_in_place,
    upload_failure,
    use_upload,
)
from penstock.datastore.audio.upkeep.swept_objects import SWEPT
from penstock.datastore.errors import (
    FieldProblem,
    Invalid,
    NotFound,
    ObjectTaken,
    PenstockError,
    QuotaExceeded,
    TryAgain,
    Unavailable,
)
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.table.commit import Attempts, StaleRead, Write, already_done, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.port import Attributes, Key, Missing, Put, key_of


class TrackDraft(NamedTuple):
    """The tags and the file of a track that is not in the library yet.

    `upload` is the key of the upload that the object was copied from.
    """

    tags: Tags
    file: AudioFile
    upload: str | None = None


class _NewTrack(NamedTuple):
    """A track to add, and the upload that its object was copied from."""

    record: Audio
    upload: str | None

    @property
    def loose_keys(self) -> tuple[str, ...]:
        """The keys of the track's objects in the server's own bucket that have rows."""
        if self.record.connection_id is not None:
            return ()
        return (self.record.object_key, *([] if self.upload is None else [self.upload]))

    def object_writes(self) -> list[Write]:
        """The writes that take these objects out of those that nothing refers to."""
        if self.upload is not None:
            upload = use_upload(self.upload, self.record.id)
            return [take_copy(self.record.object_key), upload]
        return [take_in_place(key) for key in self.loose_keys]

    def failure_in(self, rows: Mapping[Key, Attributes]) -> PenstockError | None:
        """The reason in these rows why the track cannot be added."""
        if (claim := rows.get(key_of(object_claim(self.record)))) is not None:
            return object_taken(claim)
        if self.upload is None:
            swept = any(SWEPT in rows.get(loose_key(key), {}) for key in self.loose_keys)
            return no_object() if swept else None
        upload = rows.get(loose_key(self.upload))
        is_open = upload is not None and SWEPT not in upload and REGISTERED not in upload
        return None if is_open else upload_failure(upload)


@dataclass(frozen=True, slots=True)
class TrackAdder:
    """Additions to the caller's library."""

    access: Access

    async def add(self, tags: Tags, file: AudioFile, upload: str | None = None) -> Audio:
        """Add a track: Put AU, AUB, AUL, AUR and AUG, Update AR, AL, AG and U, in one transaction.

        Raises ObjectTaken with the audio's id if the library already has the object.
        """
        (outcome,) = await self.add_many([TrackDraft(tags, file, upload)])
        if isinstance(outcome, PenstockError):
            raise outcome
        return outcome

    async def add_many(self, drafts: Sequence[TrackDraft]) -> list[Audio | PenstockError]:
        """Add tracks; each yields its record or its error, aligned. Albums are written together.

        Each transaction is atomic, not the whole call. A call that was interrupted can be
        repeated: tracks that were already added yield ObjectTaken.
        """
        checked = [self._check_draft(draft) for draft in drafts]
        pairs = zip(checked, drafts, strict=True)
        tracks = [_NewTrack(each, d.upload) for each, d in pairs if isinstance(each, Audio)]
        failures: dict[str, PenstockError] = {}
        for chunk in _transaction_chunks(_first_of_each_object(tracks, failures)):
            failures |= await self._write_chunk(chunk)
        outcomes = [
            failures.get(each.id, each) if isinstance(each, Audio) else each for each in checked
        ]
        await self._tidy_uploads(drafts, outcomes)
        return outcomes

    def _check_draft(self, draft: TrackDraft) -> Audio | Invalid:
        problems = [*tag_problems(draft.tags), *file_problems(draft.file)]
        user = self.access.caller.user_id
        if draft.file.connection_id is None and not is_owned(user, draft.file.object_key):
            # A user who could name any object of the server could read other users' uploads.
            words = f"must begin with {owned_prefix(user)}"
            problems.append(FieldProblem(["objectKey"], words))
        if problems:
            return Invalid(problems)
        return new_audio(self.access, draft.tags, draft.file)

    async def _write_chunk(self, tracks: Sequence[_NewTrack]) -> dict[str, PenstockError]:
        """Write the tracks of a chunk; return the failures by the id of the track."""
        failures: dict[str, PenstockError] = {}
        left = list(tracks)
        async for _ in Attempts():
            if not left:
                return failures
            try:
                await self._commit(left)
            except StaleRead:
                continue
            except (ObjectTaken, NotFound, QuotaExceeded) as failure:
                refused = await self._find_refused(left)
                if isinstance(failure, QuotaExceeded) and not refused:
                    return failures | await self._write_what_fits(left, failure)
                failures |= refused
                left = [track for track in left if track.record.id not in refused]
            else:
                return failures
        raise Unavailable("The same objects are being added by many at once.")

    async def _commit(self, tracks: Sequence[_NewTrack]) -> None:
        size = sum(track.record.size for track in tracks)
        growth, user = Amounts(files=len(tracks), bytes=size), self.access.caller.user_id
        admitted = await self.access.quotas.admit(self.access.table, None, user, growth)
        await commit(self.access.table, [*self._writes(tracks), *admitted])

    async def _write_what_fits(
        self, tracks: Sequence[_NewTrack], failure: PenstockError
    ) -> dict[str, PenstockError]:
        """Write tracks one by one, where they do not fit together; return the failures."""
        if len(tracks) == 1:
            return {tracks[0].record.id: failure}
        failures: dict[str, PenstockError] = {}
        for track in tracks:
            failures |= await self._write_chunk([track])
        return failures

    def _writes(self, tracks: Sequence[_NewTrack]) -> list[Write]:
        records = [track.record for track in tracks]
        writes = [Write(Put(audio_item(track), Missing()), already_done) for track in records]
        writes += [Write(Put(object_claim(track), Missing()), object_taken) for track in records]
        writes += [write for track in tracks for write in track.object_writes()]
        writes += CoverStore(self.access).use_writes(track.artwork for track in records)
        return writes + row_changes(NO_ROWS, track_rows(*records))

    async def _find_refused(self, tracks: Sequence[_NewTrack]) -> dict[str, PenstockError]:
        """Find the objects that are taken or swept; return an error by the id of the track."""
        keys = [key_of(object_claim(track.record)) for track in tracks]
        keys += [loose_key(key) for track in tracks for key in track.loose_keys]
        rows = await read_rows(self.access.table, keys, consistent=True)
        found = {track.record.id: track.failure_in(rows) for track in tracks}
        return {id: error for id, error in found.items() if error is not None}

    async def _tidy_uploads(
        self, drafts: Sequence[TrackDraft], outcomes: Sequence[Audio | PenstockError]
    ) -> None:
        """Delete the uploads of the tracks that were added, and the copies of refused ones.

        A call that is repeated goes on with the copy of the call before.
        """
        loose = LooseObjects(self.access)
        for draft, outcome in zip(drafts, outcomes, strict=True):
            if draft.upload is None:
                continue
            if isinstance(outcome, Audio):
                await loose.try_delete_upload(draft.upload)
            elif not isinstance(outcome, TryAgain):
                await loose.try_drop(draft.file.object_key)


def _transaction_chunks(tracks: Sequence[_NewTrack]) -> Iterator[list[_NewTrack]]:
    """Group tracks by album into chunks that fit into one transaction each."""
    ordered = sorted(tracks, key=_place_in_album)
    chunk: list[_NewTrack] = []
    occupied: set[object] = set()
    for track in ordered:
        own = track_rows(track.record)
        more: set[object] = {
            key_of(audio_item(track.record)),
            key_of(object_claim(track.record)),
            *map(loose_key, track.loose_keys),
            *own.items,
            *own.counters,
            *([] if track.record.artwork is None else [track.record.artwork]),
        }
        # Places are left for the gate of the user's quota, and for the row of an import's job.
        if chunk and len(occupied | more) + 2 > TRANSACTION_OPERATIONS:
            yield chunk
            chunk, occupied = [], set()
        chunk.append(track)
        occupied |= more
    if chunk:
        yield chunk


def _place_in_album(track: _NewTrack) -> tuple[names.AlbumKey, int, int]:
    return names.album_key(track.record), track.record.disc, track.record.track


def _first_of_each_object(
    tracks: Sequence[_NewTrack], failures: dict[str, PenstockError]
) -> list[_NewTrack]:
    """The first track of each object and upload; the others fail with ObjectTaken."""
    first: dict[object, _NewTrack] = {}
    for track in tracks:
        held = first.setdefault(track.upload or key_of(object_claim(track.record)), track)
        if held is not track:
            failures[track.record.id] = ObjectTaken(held.record.id)
    return list(first.values())
