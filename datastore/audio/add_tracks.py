"""Additions to the caller's library: one track in one transaction, many grouped by album."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.derived_rows import NO_ROWS, object_claim, row_changes, track_rows
from penstock.datastore.audio.object_keys import is_owned, owned_prefix
from penstock.datastore.audio.records import Audio, AudioFile, Tags
from penstock.datastore.audio.track_rules import file_problems, tag_problems
from penstock.datastore.audio.tracks import audio_item, new_audio
from penstock.datastore.errors import FieldProblem, Invalid, ObjectTaken, PenstockError, Unavailable
from penstock.datastore.table.commit import Write, already_done, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.limits import TRANSACTION_OPERATIONS
from penstock.datastore.table.port import Attributes, Key, Missing, Put, key_of

ATTEMPTS = 20


class TrackDraft(NamedTuple):
    """The tags and the file of a track that is not in the library yet."""

    tags: Tags
    file: AudioFile


@dataclass(frozen=True, slots=True)
class TrackAdder:
    """Additions to the caller's library."""

    access: Access

    async def add(self, tags: Tags, file: AudioFile) -> Audio:
        """Add a track: Put AU, AUB, AUL, AUR and AUG, Update AR, AL, AG and U, in one transaction.

        Raises ObjectTaken with the audio's id if the library already has the object.
        """
        (outcome,) = await self.add_many([TrackDraft(tags, file)])
        if isinstance(outcome, PenstockError):
            raise outcome
        return outcome

    async def add_many(self, drafts: Sequence[TrackDraft]) -> list[Audio | PenstockError]:
        """Add tracks; each yields its record or its error, aligned. Albums are written together.

        Each transaction is atomic, not the whole call. A call that was interrupted can be
        repeated: tracks that were already added yield ObjectTaken.
        """
        outcomes = [self._check_draft(draft) for draft in drafts]
        tracks = [track for track in outcomes if isinstance(track, Audio)]
        failures: dict[str, PenstockError] = {}
        for chunk in transaction_chunks(_first_of_each_object(tracks, failures)):
            failures |= await self._write_chunk(chunk)
        return [
            failures.get(outcome.id, outcome) if isinstance(outcome, Audio) else outcome
            for outcome in outcomes
        ]

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

    async def _write_chunk(self, tracks: Sequence[Audio]) -> dict[str, PenstockError]:
        """Write the tracks of a chunk; return the failures by the id of the track."""
        failures: dict[str, PenstockError] = {}
        left = list(tracks)
        for _ in range(ATTEMPTS):
            if not left:
                return failures
            try:
                await commit(self.access.table, self._writes(left))
            except ObjectTaken:
                taken = await self._find_taken(left)
                failures |= taken
                left = [track for track in left if track.id not in taken]
            else:
                return failures
        raise Unavailable("The same objects are being added by many at once.")

    def _writes(self, tracks: Sequence[Audio]) -> list[Write]:
        writes = [Write(Put(audio_item(track), Missing()), already_done) for track in tracks]
        writes += [Write(Put(object_claim(track), Missing()), _object_taken) for track in tracks]
        return writes + row_changes(NO_ROWS, track_rows(*tracks))

    async def _find_taken(self, tracks: Sequence[Audio]) -> dict[str, PenstockError]:
        """Find the objects that the library already has; return an error by the id of the track."""
        claims = {key_of(object_claim(track)): track.id for track in tracks}
        rows = await read_rows(self.access.table, claims, consistent=True)
        return {claims[key]: _object_taken(row) for key, row in rows.items()}


def transaction_chunks(tracks: Sequence[Audio]) -> Iterator[list[Audio]]:
    """Group tracks by album into chunks that fit into one transaction each."""
    ordered = sorted(tracks, key=lambda track: (names.album_key(track), track.disc, track.track))
    chunk: list[Audio] = []
    occupied: set[Key] = set()
    for track in ordered:
        own = track_rows(track)
        more = {key_of(audio_item(track)), key_of(object_claim(track)), *own.items, *own.counters}
        if chunk and len(occupied | more) > TRANSACTION_OPERATIONS:
            yield chunk
            chunk, occupied = [], set()
        chunk.append(track)
        occupied |= more
    if chunk:
        yield chunk


def _first_of_each_object(
    tracks: Sequence[Audio], failures: dict[str, PenstockError]
) -> list[Audio]:
    """The first track of each object; the others fail with ObjectTaken."""
    first: dict[Key, Audio] = {}
    for track in tracks:
        held = first.setdefault(key_of(object_claim(track)), track)
        if held is not track:
            failures[track.id] = ObjectTaken(held.id)
    return list(first.values())


def _object_taken(standing: Attributes | None) -> ObjectTaken:
    return ObjectTaken(str(standing["audioId"]) if standing else "")
