"""Removals of covers: tracks and albums show none any more; the files do not change."""

from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.artwork.set_covers import (
    PAGE,
    require_album,
    require_few_tracks,
    rewrite_tracks,
)
from penstock.datastore.audio.edit_tracks import TrackEditor
from penstock.datastore.audio.lists import LibraryLists
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.audio.tracks import TrackReader, key_of_place
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.library_rows import note_upkeep
from penstock.datastore.errors import NotFound
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
from penstock.datastore.table.layout import ALBUM
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Compare, Update


@dataclass(frozen=True, slots=True)
class CoverRemover:
    """Removals of covers of the caller's tracks and albums; the sweep deletes what none shows."""

    access: Access

    async def remove_from_audio(self, id: str) -> Audio:
        """Remove the cover of a track; its album then shows that of another track, if one has any.

        Raises NotFound.
        """
        track = await TrackReader(self.access).get_audio_files_by_audio_id(id)
        await note_upkeep(self.access)
        bare = await TrackEditor(self.access).rewrite(id, _without_cover)
        with suppress(NotFound):  # the last track of the album was deleted meanwhile
            await self._correct_album(names.album_place(track))
        return bare

    async def remove_from_album(self, place: str) -> Album:
        """Remove the covers of all tracks of an album, one after another.

        A call that ends early can be repeated. Raises NotFound, and LimitExceeded for more than
        MAX_TRACKS.
        """
        album = await require_album(self.access, place)
        require_few_tracks(album)
        await note_upkeep(self.access)
        await rewrite_tracks(self.access, album, _without_cover)
        await self._correct_album(place)
        return await require_album(self.access, place)

    async def _correct_album(self, place: str) -> None:
        """Let an album show no cover that none of its tracks has.

        A track that gets this cover meanwhile notes its use, so the tracks are then read again.
        """
        covers = CoverStore(self.access)

        async def attempt() -> None:
            album = await require_album(self.access, place)
            if album.artwork is None:
                return
            use = await covers.read_use(album.artwork)
            shown = await self._find_cover(album)
            if shown == album.artwork:
                return
            update = Update(
                key=key_of_place(ALBUM, self.access.caller.user_id, place),
                set={} if shown is None else {"artwork": shown},
                remove=("artwork",) if shown is None else (),
                condition=Compare("artwork", "=", album.artwork),
            )
            unused = covers.unused_check(album.artwork, use)
            await commit(self.access.table, [Write(update), Write(unused)])

        await retry_on_conflict("album", attempt)

    async def _find_cover(self, album: Album) -> str | None:
        """The cover that the album shows if a track has it, or else that of another track.

        Of several the one that was written last.
        """
        latest: tuple[str, str] | None = None
        lists, reading = LibraryLists(self.access), TrackReader(self.access)
        window: Window | None = Window(size=PAGE)
        while window is not None:
            page = await lists.by_album(album.id, window)
            tracks = await reading.many([link.audio_id for _, link in page.entries])
            kept = [one for one in tracks if isinstance(one, Audio) and one.artwork is not None]
            if any(one.artwork == album.artwork for one in kept):
                return album.artwork
            dated = [(one.updated_at, str(one.artwork)) for one in kept]
            latest = max([*dated, *([] if latest is None else [latest])], default=None)
            window = Window(size=PAGE, after=page.reached) if page.more else None
        return None if latest is None else latest[1]


def _without_cover(track: Audio) -> Audio:
    return replace(track, artwork=None)
