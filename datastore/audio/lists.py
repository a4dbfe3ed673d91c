"""The lists of the caller's library: each page is one query of a prefix in their partition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.browsing import walk_rows
from penstock.datastore.audio.names import AlbumKey
from penstock.datastore.audio.records import Album, Artist, Audio, AudioLink, Genre
from penstock.datastore.audio.title_search import TITLE_FIELDS, TitleSearch
from penstock.datastore.audio.track_rules import MAX_NAME
from penstock.datastore.audio.tracks import album_of, artist_of, audio_of, genre_of, link_of
from penstock.datastore.errors import BadArgument
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.table.items import Projection, merge_projections
from penstock.datastore.table.layout import (
    ALBUM,
    ARTIST,
    AUDIO,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_BUCKET,
    AUDIO_BY_GENRE,
    GENRE,
    Row,
)
from penstock.datastore.table.pages import (
    Slice,
    Window,
    page_of_shuffled,
    read_existing,
    read_records,
    slice_placed,
)
from penstock.datastore.table.port import Attributes, Key, Query, Range
from penstock.datastore.text import escape, normalisation_problem

T = TypeVar("T")

NO_LINKS: Slice[AudioLink] = Slice((), more=False, reached=None)


@dataclass(frozen=True, slots=True)
class LibraryLists:
    """The lists of the caller's tracks, artists, albums and genres.

    A page is read eventually consistent, except of `getAudioIdByUserId`.
    """

    access: Access

    async def get_audio_id_by_user_id(self, window: Window) -> Slice[AudioLink]:
        """getAudioIdByUserId: `Query(DataValue = :UserId)`, the ids alone, in no particular order.

        It reads the rows by bucket: every track has one, and they are the smallest.
        """
        return await self._page(AUDIO_BY_BUCKET.sk.prefix({}), window, link_of)

    async def get_audio_id_by_user_id_by_artist(
        self, artist: str, window: Window
    ) -> Slice[AudioLink]:
        """getAudioIdByUserIdByArtist: `Query(DataValue = :{UserId}-{Artist})`, by the name.

        In the order of years, albums, discs and tracks.
        """
        return await self.by_artist(names.artist_id(_findable(artist)), window)

    async def get_audio_id_by_user_id_by_album(
        self, album: str, window: Window
    ) -> Slice[AudioLink]:
        """getAudioIdByUserIdByAlbum: `Query(DataValue = :{UserId}-{Album})`, by the name.

        Albums of the same name follow one another; each is in the order of discs and
        tracks.
        """
        prefix = AUDIO_BY_ALBUM.sk.prefix({"title": names.album_title(_findable(album))})
        return await self._page(prefix, window, link_of)

    async def get_audio_id_by_user_id_by_s3bucket_name(
        self, bucket: str, window: Window
    ) -> Slice[AudioLink]:
        """getAudioIdByUserIdByS3bucketName: `Query(DataValue = :{UserId}-{S3BucketName})`."""
        return await self._page(AUDIO_BY_BUCKET.sk.prefix({"bucket": bucket}), window, link_of)

    async def get_artists_by_user_id(self, window: Window, prefix: str = "") -> Slice[Artist]:
        """getArtistsByUserId: `Query(Owner = :{UserId} and DataType = 'Artist')`.

        Each artist once, sorted, with the number of tracks; only names that begin with
        `prefix`.
        """
        return await self._page(_name_prefix(ARTIST, prefix), window, artist_of)

    async def get_album_by_user_id(self, window: Window, prefix: str = "") -> Slice[Album]:
        """getAlbumByUserId: `Query(Owner = :{UserId} and DataType = 'Album')`, like artists."""
        return await self._page(_name_prefix(ALBUM, prefix), window, album_of)

    async def genres(self, window: Window, prefix: str = "") -> Slice[Genre]:
        """List genres, like artists."""
        return await self._page(_name_prefix(GENRE, prefix), window, genre_of)

    async def audios(
        self, window: Window, *, newest_first: bool = True, projection: Projection = None
    ) -> Slice[Audio]:
        """List tracks by the time they were added: `sk` begins with `AU:`.

        Each has at least the requested fields.
        """
        read = partial(audio_of, projection=projection)
        return await self._page(AUDIO.sk.prefix({}), window, read, descending=newest_first)

    async def by_title(
        self,
        title: NameFilter,
        window: Window,
        *,
        newest_first: bool = True,
        projection: Projection = None,
    ) -> Slice[Audio]:
        """List tracks by a part of the title: `sk` begins with `AUW:<word>`, then BatchGet.

        In the order of `audios`, from which the tracks are read where all words of the title are
        common. A page that reads very much ends early.
        """
        wanted = merge_projections(projection, TITLE_FIELDS)
        search = TitleSearch(self.access, title.term("title"), wanted)
        ids = await search.find_ids()
        if ids is not None:
            descending = newest_first is not window.backward
            return await read_existing(
                window, partial(search.read_ids, ids, descending), search.load_tracks
            )
        read = partial(self.audios, newest_first=newest_first, projection=wanted)
        return await read_existing(window, read, search.keep_matches)

    async def by_artist(self, artist_id: str, window: Window) -> Slice[AudioLink]:
        """List the tracks of an artist: `sk` begins with `AUR:<artist id>:`."""
        prefix = AUDIO_BY_ARTIST.sk.prefix({"artist": artist_id})
        return await self._page(prefix, window, link_of)

    async def by_album(self, album_id: str, window: Window) -> Slice[AudioLink]:
        """List the tracks of one album: `sk` begins with `AUL:<title>:<album>:`."""
        key = AlbumKey.parse(album_id)
        if key is None:
            return NO_LINKS
        prefix = AUDIO_BY_ALBUM.sk.prefix({"title": key.title, "album": key.album})
        return await self._page(prefix, window, link_of)

    async def by_genre(
        self, genre: str, window: Window, *, newest_first: bool = True
    ) -> Slice[AudioLink]:
        """List the tracks of a genre, by its name: `sk` begins with `AUG:<genre id>:`."""
        prefix = AUDIO_BY_GENRE.sk.prefix({"genre": names.genre_id(_findable(genre))})
        return await self._page(prefix, window, link_of, descending=newest_first)

    async def at_random(
        self, genre: str | None, seed: str | None, window: Window
    ) -> Slice[AudioLink]:
        """List tracks at random: all rows whose `sk` begins with `AUB:`, or with `AUG:<genre id>:`.

        The seed draws the order, or each list has its own.
        """
        rows = (
            walk_rows(self.access, link_of, AUDIO_BY_BUCKET)
            if genre is None
            else walk_rows(
                self.access, link_of, AUDIO_BY_GENRE, genre=names.genre_id(_findable(genre))
            )
        )
        return await page_of_shuffled(rows, window, lambda link: link.audio_id, seed)

    async def _page(
        self,
        prefix: str,
        window: Window,
        read: Callable[[Attributes], T],
        *,
        descending: bool = False,
    ) -> Slice[T]:
        """One page of the rows with the prefix; a position is the rest of the sort key after it."""
        pk = AUDIO.pk.fill({"user": self.access.caller.user_id})
        query = Query(
            partition=pk,
            range=Range(prefix),
            after=None if window.after is None else Key(pk, prefix + window.after),
            descending=descending is not window.backward,
            limit=window.size + 1,
        )

        def read_placed(item: Attributes) -> tuple[str, T]:
            return str(item["sk"]).removeprefix(prefix), read(item)

        return slice_placed(await read_records(self.access.paid_rows, query, read_placed), window)


def _name_prefix(row: Row, prefix: str) -> str:
    """The key prefix of names that begin with the text; names are escaped letter by letter."""
    return row.sk.prefix({}) + escape(names.sort_name(_findable(prefix)))


def _findable(name: str) -> str:
    """Return a name, or its beginning, unchanged; BadArgument for one that no track can have.

    A text of any length and with any marks would take very long to be brought to its normal form.
    """
    if problem := normalisation_problem(name, MAX_NAME):
        raise BadArgument(f"The name {problem}.")
    return name
