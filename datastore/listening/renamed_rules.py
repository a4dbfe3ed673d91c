"""Rules of smart playlists that follow a new name of an artist, an album or a genre.

Before the first track gets the new name, each rule that has the old one gets the new one beside
it; the old one leaves when no track has it any more. So a rule finds all tracks of both at every
moment, also behind a worker that died, and behind a job that was cancelled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.renamed_tracks import renamed_id
from penstock.datastore.jobs.jobs import RenamedKind, Renaming
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.playlists.rows import member_of
from penstock.datastore.playlists.rules import PlaylistRule, TrackFilter
from penstock.datastore.playlists.write import PlaylistWriter
from penstock.datastore.table.items import read_all
from penstock.datastore.table.layout import (
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_GENRE,
    PLAYLIST_MEMBER,
    Row,
)
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Query, Range

PAGE: Final = 50
"""The playlists that are read at once: a batch gets a header and a row of the user for each."""


class _NamedThing(NamedTuple):
    """The condition of filters that names things of a kind, their ids, and the rows under these."""

    condition: str
    id_of: Callable[[str], str]
    row: Row
    part: str


_THINGS: Final = {
    RenamedKind.ARTIST: _NamedThing("artists", names.artist_id, AUDIO_BY_ARTIST, "artist"),
    RenamedKind.ALBUM: _NamedThing("albums", names.album_title, AUDIO_BY_ALBUM, "title"),
    RenamedKind.GENRE: _NamedThing("genres", names.genre_id, AUDIO_BY_GENRE, "genre"),
}


@dataclass(frozen=True, slots=True)
class NewName:
    """A new name, and the id by which names are compared of the old one.

    A rule names albums of all artists; so the old name stays where others have it.
    """

    thing: _NamedThing
    old: str
    name: str

    @classmethod
    def of(cls, renaming: Renaming) -> "NewName | None":
        """The new name of a renaming; None where rules take it for the same."""
        thing, old = _THINGS[renaming.kind], renamed_id(renaming)
        if renaming.kind is RenamedKind.ALBUM and (key := names.AlbumKey.parse(old)) is not None:
            old = key.title
        return None if thing.id_of(renaming.name) == old else cls(thing, old, renaming.name)

    def follow(self, rule: PlaylistRule, *, keeps_old: bool) -> PlaylistRule:
        """The rule with the new name wherever the old one is, beside it or in its place."""
        return replace(rule, filter=self._follow_in(rule.filter, keeps_old))

    def _follow_in(self, filter: TrackFilter, keeps_old: bool) -> TrackFilter:
        listed = self._follow_among(getattr(filter, self.thing.condition), keeps_old)
        return replace(
            filter,
            **{self.thing.condition: listed},
            any_of=tuple(self._follow_in(each, keeps_old) for each in filter.any_of),
            none_of=tuple(self._follow_in(each, keeps_old) for each in filter.none_of),
        )

    def _follow_among(self, held: tuple[str, ...], keeps_old: bool) -> tuple[str, ...]:
        id_of = self.thing.id_of
        if all(id_of(each) != self.old for each in held):
            return held
        found: dict[str, str] = {}
        for each in held:
            is_old = id_of(each) == self.old
            for name in ((each, self.name) if keeps_old else (self.name,)) if is_old else (each,):
                found.setdefault(id_of(name), name)
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class RuleFollower:
    """Changes of all rules of the caller's smart playlists, which can be repeated."""

    access: Access
    lease: JobLease
    renaming: Renaming

    async def add_name(self) -> None:
        """Add the new name to every rule that has the old one."""
        if (new := NewName.of(self.renaming)) is not None:
            await self._change_rules(new, keeps_old=True)

    async def drop_old_name(self) -> None:
        """Put the new name in the place of the old one, unless tracks have the old one still."""
        if (new := NewName.of(self.renaming)) is not None:
            await self._change_rules(new, keeps_old=await self._is_listed(new))

    async def _change_rules(self, new: NewName, *, keeps_old: bool) -> None:
        """Read `pk = U:<user>`, `sk` begins with `PL:`, and the headers; write those that change.

        A playlist that a reader of the index would not see yet is among them.
        """
        writing = PlaylistWriter(self.access)
        query = Query(
            partition=self._partition, range=Range(PLAYLIST_MEMBER.sk.prefix({})), consistent=True
        )
        async for page in query_pages(self.access.table, query, PAGE):
            for playlist in await PlaylistReader(self.access).many(read_all(member_of, page)):
                if isinstance(playlist, Playlist) and _is_changed(playlist, new, keeps_old):
                    await writing.change_rule(
                        playlist.id, lambda rule: new.follow(rule, keeps_old=keeps_old)
                    )
            await self.lease.advance()

    async def _is_listed(self, new: NewName) -> bool:
        """Whether the library lists a track under the old name."""
        listed = new.thing.row.sk.prefix({new.thing.part: new.old})
        query = Query(partition=self._partition, range=Range(listed), consistent=True, limit=1)
        return bool((await self.access.table.query(query)).items)

    @property
    def _partition(self) -> str:
        return PLAYLIST_MEMBER.pk.fill({"user": self.access.caller.user_id})


def _is_changed(playlist: Playlist, new: NewName, keeps_old: bool) -> bool:
    rule = playlist.rule
    return rule is not None and new.follow(rule, keeps_old=keeps_old) != rule
