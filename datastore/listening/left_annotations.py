"""Annotations of albums and artists whose last track was edited or deleted amid their renaming.

They follow the tracks that have got the new name, behind the last of these. The job names both
names, so the next worker does it where one dies.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.audio.browsing import LibraryBrowser
from penstock.datastore.audio.names import artist_place
from penstock.datastore.audio.renamed_tracks import old_album_place, renamed_album_place
from penstock.datastore.jobs.jobs import RenamedKind, Renaming
from penstock.datastore.listening.annotation_moves import AnnotationMover
from penstock.datastore.listening.annotations import NOUN, Annotations, ThingKey, listed_key
from penstock.datastore.listening.records import Kind
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Check, Exists, Missing


@dataclass(frozen=True, slots=True)
class LeftAnnotations:
    """The annotations that a renaming has left at names without tracks."""

    access: Access
    renaming: Renaming

    async def follow(self) -> None:
        """Give them to the new names, where these have tracks."""
        moves = await self._list_moves()
        noted = Annotations(self.access)
        keys = {noted.key(source): source for source in moves}
        for key in await read_rows(self.access.table, keys, consistent=True):
            await self._move(keys[key], moves[keys[key]])

    async def _move(self, source: ThingKey, target: ThingKey) -> None:
        """Move an annotation, unless its name has tracks or the other one has none."""
        old, new = listed_key(self.access, source), listed_key(self.access, target)
        checks = [Write(Check(old, Missing())), Write(Check(new, Exists()))]

        async def attempt() -> None:
            listed = await read_rows(self.access.table, [old, new], consistent=True)
            if listed.keys() == {new}:
                writes = await AnnotationMover(self.access).list_writes(source, target)
                await commit(self.access.table, [*checks, *writes])

        await retry_on_conflict(NOUN, attempt)

    async def _list_moves(self) -> Mapping[ThingKey, ThingKey]:
        """The things that may have lost their last track, and those in their place."""
        renaming, moves = self.renaming, dict[ThingKey, ThingKey]()
        match renaming.kind:
            case RenamedKind.ALBUM:
                target = renamed_album_place(renaming)
                moves[Kind.ALBUM, renaming.place] = (Kind.ALBUM, target)
            case RenamedKind.ARTIST:
                target = artist_place(renaming.name)
                moves[Kind.ARTIST, renaming.place] = (Kind.ARTIST, target)
                moves |= await self._list_albums(target.rpartition(":")[2])
            case RenamedKind.GENRE:
                pass
        return {source: target for source, target in moves.items() if source != target}

    async def _list_albums(self, artist: str) -> dict[ThingKey, ThingKey]:
        """The albums of the artist with the new name, under those that the old one had."""
        albums = await LibraryBrowser(self.access).album_names_of(artist)
        olds = {
            place: old_album_place(self.renaming, place, name) for place, name in albums.items()
        }
        return {
            (Kind.ALBUM, old): (Kind.ALBUM, place) for place, old in olds.items() if old is not None
        }
