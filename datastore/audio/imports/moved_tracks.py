"""Tracks whose objects an import misses, and the objects to which these tracks have moved."""

from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.names import content_hash, object_hash
from penstock.datastore.audio.object_keys import file_name_of
from penstock.datastore.audio.records import Audio, ImportFailure, ImportFailureCode
from penstock.datastore.audio.tracks import TrackReader, audio_of
from penstock.datastore.errors import BadArgument, NotFound, ObjectRefused, ObjectTaken
from penstock.datastore.objects.port import FileEntry
from penstock.datastore.table.layout import AUDIO, AUDIO_MISSING
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Query, Range

_TracksById: TypeAlias = OrderedDict[str, Audio]

GONE_MESSAGE = "The object of this track is no longer in the bucket. The track stays."


@dataclass(frozen=True, slots=True)
class ImportScope:
    """The objects that an import looks at: those below a prefix in the bucket of a connection."""

    bucket: str
    connection: str | None
    prefix: str

    def has_bucket_of(self, track: Audio) -> bool:
        return (track.bucket, track.connection_id) == (self.bucket, self.connection)

    def __contains__(self, track: Audio) -> bool:
        return self.has_bucket_of(track) and track.object_key.startswith(self.prefix)


def has_content(track: Audio, entry: FileEntry) -> bool:
    """Whether the track was read from an object of this size and entity tag."""
    return content_of(track) == content_hash(entry.etag, entry.size)


def content_of(track: Audio) -> str:
    return content_hash(track.etag, track.size)


class MissingTracks:
    """The tracks of a bucket that miss their objects, by their content, each for one new object.

    Very many may have one content, so each is found without a look at the others.
    """

    def __init__(self, access: Access, tracks: Sequence[Audio]) -> None:
        self._access = access
        # In the order of their ids, also under the names of their files.
        self._by_content = defaultdict[str, _TracksById](OrderedDict)
        self._by_name = defaultdict[tuple[str, str], _TracksById](OrderedDict)
        for track in sorted(tracks, key=lambda each: each.id):
            content = content_of(track)
            self._by_content[content][track.id] = track
            self._by_name[content, track.file_name][track.id] = track

    async def move_to(self, entry: FileEntry) -> Audio | None:
        """Give the object to a track that misses this content; None if there is no such track."""
        while (track := self._take(entry)) is not None:
            moved = await self._try_move(track, entry)
            if moved is not None:
                return moved
        return None

    def _take(self, entry: FileEntry) -> Audio | None:
        """Take a track with the content of the object, one with its name before others."""
        content = content_hash(entry.etag, entry.size)
        named = self._by_name.get((content, file_name_of(entry.key)))
        found = named or self._by_content.get(content)
        if not found:
            return None
        track = found[next(iter(found))]
        del self._by_content[content][track.id]
        del self._by_name[content, track.file_name][track.id]
        return track

    async def _try_move(self, track: Audio, entry: FileEntry) -> Audio | None:
        def move(current: Audio) -> Audio:
            if current.missing_since is None or not has_content(current, entry):
                return current
            return replace(
                current, object_key=entry.key, file_name=file_name_of(entry.key), missing_since=None
            )

        try:
            moved = await TrackEditor(self._access).rewrite(track.id, move)
        except (NotFound, ObjectTaken):
            return None
        return moved if moved.object_key == entry.key else None


@dataclass(frozen=True, slots=True)
class MissingObjects:
    """The search for tracks of an import's bucket whose objects are gone."""

    access: Access
    scope: ImportScope

    async def candidates(
        self, keys: Collection[str], contents: Collection[str]
    ) -> AsyncIterator[Audio]:
        """Yield the tracks that may miss their objects, page by page through the library.

        They are the tracks below the prefix without a key in the list, of which `keys` are the
        digests, and those elsewhere in the bucket whose content is in the list: their objects may
        have moved.
        """
        query = Query(
            partition=AUDIO.pk.fill({"user": self.access.caller.user_id}),
            range=Range(AUDIO.sk.prefix({})),
            consistent=True,
        )
        async for page in query_pages(self.access.table, query):
            for track in map(audio_of, page):
                if track.missing_since is not None or not self.scope.has_bucket_of(track):
                    continue
                listed = object_hash(track.object_key) in keys
                if not listed and (track in self.scope or content_of(track) in contents):
                    yield track

    async def mark(self, source: AudioSource, track: Audio) -> None:
        """Mark the track as missing its object, after a look at the object itself."""
        try:
            if await source.stat(track.object_key) is not None:
                return
        except (BadArgument, ObjectRefused):
            return
        at = self.access.clock.timestamp()

        def miss(current: Audio) -> Audio:
            if current.object_key != track.object_key or current.missing_since is not None:
                return current
            return replace(current, missing_since=at)

        try:
            await TrackEditor(self.access).rewrite(track.id, miss)
        except NotFound:
            return

    async def read_missing(self) -> list[Audio]:
        """Read the tracks of the bucket that are marked: `sk` begins with `AUX:`."""
        query = Query(
            partition=AUDIO.pk.fill({"user": self.access.caller.user_id}),
            range=Range(AUDIO_MISSING.sk.prefix({})),
            consistent=True,
        )
        found: list[Audio] = []
        async for page in query_pages(self.access.table, query):
            ids = [AUDIO_MISSING.sk.parse(str(item["sk"]))["audio"] for item in page]
            tracks = await TrackReader(self.access).many(ids)
            found += [track for track in tracks if isinstance(track, Audio)]
        return [track for track in found if self.scope.has_bucket_of(track)]

    async def failures(self) -> list[ImportFailure]:
        """The report of the tracks below the prefix that still miss their objects."""
        return [
            ImportFailure(
                object_key=track.object_key, code=ImportFailureCode.MISSING, message=GONE_MESSAGE
            )
            for track in await self.read_missing()
            if track in self.scope and track.missing_since is not None
        ]
