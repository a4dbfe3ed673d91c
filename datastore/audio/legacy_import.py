"""Bringing audio of the document's own layout into the libraries of its owners."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from datastore.access import Caller
from datastore.audio.adding import Draft
from datastore.audio.legacy import Legacy, LegacyAudio, Quarantined
from datastore.audio.library import AudioLibrary
from datastore.audio.records import Audio
from datastore.errors import Failure, NotFound, ObjectTaken, PenstockError
from datastore.slices import Window
from datastore.store import Store

CHUNK = 20


@dataclass(frozen=True, slots=True)
class Imported:
    """How many tracks were added, how many were there, and what was set aside."""

    added: int
    found: int
    quarantined: tuple[Quarantined, ...]


async def import_legacy(store: Store, legacy: Legacy) -> Imported:
    """Add what can be read by a connection of its owner; may be done again at any time.

    The bytes lie in buckets of the users' own, whose keys the old rows hold: those are not taken
    over. An owner connects the bucket, and the import is done again. Artist and album are taken
    from the old rows, all else from the file.
    """
    owners: dict[str, list[LegacyAudio]] = defaultdict(list)
    for audio in legacy.audio:
        owners[audio.owner].append(audio)
    counts: Counter[str] = Counter()
    quarantined = list(legacy.quarantined)
    for owner, audios in owners.items():
        library = store.seen_by(Caller(owner, {})).audio
        buckets = await _connections(library)
        for start in range(0, len(audios), CHUNK):
            step = audios[start : start + CHUNK]
            outcomes = await _take_in(library, buckets, step)
            for audio, outcome in zip(step, outcomes, strict=True):
                if isinstance(outcome, Audio | ObjectTaken):
                    counts[type(outcome).__name__] += 1
                else:
                    quarantined.append(Quarantined(audio.id, "*", outcome.message))
    return Imported(counts["Audio"], counts["ObjectTaken"], tuple(quarantined))


async def _connections(library: AudioLibrary) -> Mapping[str, str]:
    """The owner's connections by their buckets."""
    page = await library.connections.page(Window(size=100))
    return {connection.bucket: connection.id for _, connection in page.entries}


async def _take_in(
    library: AudioLibrary, buckets: Mapping[str, str], audios: Sequence[LegacyAudio]
) -> list[Audio | PenstockError]:
    """Read and add some of one owner's; each or its failure, aligned."""
    found = [await _read(library, buckets, audio) for audio in audios]
    drafts = [draft for draft in found if isinstance(draft, Draft)]
    added = iter(await library.adding.add_many(drafts))
    return [next(added) if isinstance(it, Draft) else it for it in found]


async def _read(
    library: AudioLibrary, buckets: Mapping[str, str], audio: LegacyAudio
) -> Draft | PenstockError:
    connection = buckets.get(audio.bucket)
    if connection is None:
        return NotFound(f"{audio.owner} has no connection to the bucket {audio.bucket}.")
    registering = library.registering
    try:
        await registering.require_new(audio.bucket, audio.object_key)
        async with registering.sources.of(connection) as source:
            draft = await registering.draft(source, audio.object_key, connection)
    except Failure as failure:
        return failure
    told: dict[str, Any] = {}
    if audio.artist is not None:
        told["artists"] = (audio.artist,)
    if audio.album is not None:
        told["album"] = audio.album
    return Draft(msgspec.structs.replace(draft.tags, **told), draft.file)
