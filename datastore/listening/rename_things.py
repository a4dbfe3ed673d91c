"""Other names for artists, albums and genres of a library, as a job that can be resumed.

The rows that list the tracks of the old name are the progress: a track that is rewritten leaves
them. Stars, ratings and plays of an artist or album move with its last track, or behind it where it
went another way. Rules of smart playlists get the new name before the first track, and lose the old
one behind the last.
"""

from asyncio import get_running_loop, sleep
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Final, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.audio import names
from penstock.datastore.audio.browsing import LibraryBrowser
from penstock.datastore.audio.by_name import NameReader
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.import_job import MAX_TURN_SECONDS
from penstock.datastore.audio.imports.open_imports import (
    MAX_JOBS,
    begin_library_job,
    read_open_imports,
)
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.audio.renamed_tracks import (
    LISTED,
    album_listing_artist,
    rename_track,
    tracks_prefix,
)
from penstock.datastore.audio.track_rules import MAX_NAME
from penstock.datastore.audio.tracks import TrackReader, key_of_place, link_of
from penstock.datastore.errors import FieldProblem, Invalid, NotFound
from penstock.datastore.jobs.jobs import Job, JobKind, RenamedKind, Renaming, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.listening.last_track_moves import LastTrackMoves
from penstock.datastore.listening.left_annotations import LeftAnnotations
from penstock.datastore.listening.renamed_rules import RuleFollower
from penstock.datastore.table.items import read_all, read_rows
from penstock.datastore.table.layout import AUDIO
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Query, Range
from penstock.datastore.text import line_problem, normalisation_problem

T = TypeVar("T")

STEP: Final = 20
SECONDS_PER_TRACK: Final = 0.02
"""The time that each track must take at least: it then uses about 1,000 write units a second."""


@dataclass(frozen=True, slots=True)
class ThingRenamer:
    """Other names for the caller's artists, albums and genres; each begins a job."""

    access: Access
    on_job_created: Callable[[Job], None]

    async def rename_artist(self, place: str, name: str) -> Job:
        """Begin a job that renames an artist, or merges them with the artist of the name."""
        _check_name(name, "name")
        artist = _require((await TrackReader(self.access).artists([place]))[0])
        return await self._begin(
            Renaming(
                kind=RenamedKind.ARTIST,
                place=place,
                name=name.strip(),
                old_artist=names.normalize_name(artist.name),
            )
        )

    async def rename_album(self, place: str, name: str | None, artist: str | None) -> Job:
        """Begin a job that gives an album another name or artist, or both."""
        album = _require((await TrackReader(self.access).albums([place]))[0])
        for field_name, text in (("name", name), ("artistName", artist)):
            if text is not None:
                _check_name(text, field_name)
        wanted = album.name if name is None else name.strip()
        by = None if artist is None else artist.strip()
        return await self._begin(
            Renaming(
                kind=RenamedKind.ALBUM,
                place=place,
                name=wanted,
                artist=by,
                old_artist=album_listing_artist(album),
            )
        )

    async def merge_albums(self, place: str, into: str) -> Job:
        """Begin a job that puts the tracks of an album into another one.

        They get its name, its artist and its MusicBrainz id.
        """
        reading = TrackReader(self.access)
        _require((await reading.albums([place]))[0])
        if place == into:
            raise Invalid([FieldProblem(["into"], "must be another album")])
        target = (await reading.albums([into]))[0]
        if isinstance(target, NotFound):
            raise NotFound("There is no album with this id.", ("into",))
        renaming = Renaming(
            kind=RenamedKind.ALBUM,
            place=place,
            name=target.name,
            artist=target.album_artist,
            merges=True,
            mbid=await self._mbid_of(target),
        )
        return await self._begin(renaming)

    async def rename_genre(self, name: str, new_name: str) -> Job:
        """Begin a job that renames a genre, or merges it with the genre of the name."""
        _check_name(new_name, "newName")
        await NameReader(self.access).genre(name)
        place = names.genre_place(name)
        return await self._begin(
            Renaming(kind=RenamedKind.GENRE, place=place, name=new_name.strip())
        )

    async def _begin(self, renaming: Renaming) -> Job:
        job = new_job(self.access, JobKind.RENAME_AUDIO, renaming=renaming)
        words = f"waits: {MAX_JOBS} imports and other jobs of yours have not ended"
        too_many = FieldProblem(["id"], words, "TOO_MANY_JOBS")

        def is_equal(other: Job) -> bool:
            return other.renaming == renaming

        begun = await begin_library_job(self.access, job, is_equal, too_many)
        if begun is job:
            self.on_job_created(job)
        return begun

    async def _mbid_of(self, album: Album) -> str | None:
        """The MusicBrainz id that makes the tracks of an album one, if they have one."""
        (id,) = await LibraryBrowser(self.access).first_tracks([album.id])
        found = await TrackReader(self.access).many([] if id is None else [id])
        return next((track.album_mbid for track in found if isinstance(track, Audio)), None)


def _check_name(name: str, path: str) -> None:
    """Raise Invalid for a name that no tag can have."""
    text = name.strip()
    message = normalisation_problem(text, MAX_NAME) or line_problem(text, MAX_NAME)
    problems = [FieldProblem([path], message)] if message else []
    if problems := problems or name_character_problems({"name": text}):
        raise Invalid([FieldProblem([path], problem.message) for problem in problems])


def _require(found: T | NotFound) -> T:
    if isinstance(found, NotFound):
        raise NotFound(found.message, ("id",))
    return found


async def rename_things(access: Access, lease: JobLease) -> None:
    """Run the job of a lease, as the user who began it, behind their renamings that came before.

    Two at once could give tracks back and forth without end, or share those of an album.
    """
    if lease.job.renaming is None:
        return
    if await _is_behind_another(access, lease.job):
        await lease.pause()
    await _RenameJob(access, lease, lease.job.renaming).run()


async def _is_behind_another(access: Access, job: Job) -> bool:
    """Whether a renaming of the library that began before has not ended."""
    listed = (await read_open_imports(access)).jobs
    before = takewhile(lambda other: other != job.id, listed)
    return any(listed[other].renaming is not None for other in before)


@dataclass(frozen=True, slots=True)
class _RenameJob:
    """One renaming."""

    access: Access
    lease: JobLease
    renaming: Renaming

    async def run(self) -> None:
        """Rename the tracks, again while new ones come."""
        rules = RuleFollower(self.access, self.lease, self.renaming)
        await rules.add_name()
        if self.lease.total is None:
            await self.lease.set_steps_left(await self._count_tracks())
        began = get_running_loop().time()
        while await self._rename_listed(began):
            pass
        await LeftAnnotations(self.access, self.renaming).follow()
        await rules.drop_old_name()

    async def _count_tracks(self) -> int:
        user, place = self.access.caller.user_id, self.renaming.place
        key = key_of_place(LISTED[self.renaming.kind], user, place)
        rows = await read_rows(self.access.table, [key], consistent=True)
        return int(str(rows.get(key, {}).get("count", 0)))

    async def _rename_listed(self, began: float) -> int:
        """Rename the tracks that the old name lists now; return the number of tracks written."""
        clock, written = get_running_loop().time, 0
        query = Query(
            partition=self._partition, range=Range(tracks_prefix(self.renaming)), consistent=True
        )
        async for page in query_pages(self.access.table, query, STEP):
            stepped, before = clock(), written
            for link in read_all(link_of, page):
                is_written = await self._rename_one(link.audio_id)
                await self.lease.advance(int(is_written))
                written += is_written
            spare = (written - before) * SECONDS_PER_TRACK - (clock() - stepped)
            await sleep(max(0.0, spare))
            if clock() - began >= MAX_TURN_SECONDS:
                await self.lease.pause()
        return written

    async def _rename_one(self, id: str) -> bool:
        """Rename one track; return whether it was written."""
        (track,) = await TrackReader(self.access).many([id])
        change = partial(rename_track, renaming=self.renaming)
        if not isinstance(track, Audio) or change(track) == track:
            return False
        moves = LastTrackMoves(self.access, self.renaming)
        with suppress(NotFound):
            await TrackEditor(self.access).rewrite(id, change, moves.add_writes)
            return True
        return False

    @property
    def _partition(self) -> str:
        return AUDIO.pk.fill({"user": self.access.caller.user_id})
