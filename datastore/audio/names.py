"""Names of artists, albums and genres: their equality, their ids and their order in lists."""

from base64 import b32encode
from hashlib import sha256
from typing import Final, NamedTuple

from penstock.datastore.audio.records import Album, Tags
from penstock.datastore.name_search.words import name_words, search_form
from penstock.datastore.text import comparison_form, escape

UNKNOWN_ARTIST: Final = "[Unknown Artist]"
UNKNOWN_ALBUM: Final = "[Unknown Album]"
VARIOUS_ARTISTS: Final = "Various Artists"

# The articles decide keys of stored rows, so they cannot be a setting.
ARTICLES: Final = frozenset(["the", "el", "la", "los", "las", "le", "les", "os", "as", "o", "a"])
SORT_BYTES: Final = 512
MAX_CHARACTER_BYTES: Final = 6
"""The largest number of bytes of one character in a key."""

TITLE_ROOM: Final = 46
"""The most rows of artists, genres and words of one track, with a count of each name."""

ID_LETTERS: Final = 16
OBJECT_LETTERS: Final = 26


class AlbumKey(NamedTuple):
    """The parts of an album's id: all albums of the same name share `title`."""

    title: str
    album: str

    @property
    def id(self) -> str:
        return self.title + self.album

    @classmethod
    def parse(cls, id: str) -> "AlbumKey | None":
        """Split an album's id into its parts; None if the length is wrong."""
        if len(id) != 2 * ID_LETTERS:
            return None
        return cls(id[:ID_LETTERS], id[ID_LETTERS:])


def normalize_name(name: str) -> str:
    """The comparison form of a name, with single spaces."""
    return " ".join(comparison_form(name).split())


def sort_name(name: str) -> str:
    """The text that sorts a name: its normal form without an article, at most 512 bytes."""
    form = normalize_name(name)
    first, _, rest = form.partition(" ")
    return _truncate_name(rest if rest and first in ARTICLES else form)


def artist_id(name: str) -> str:
    return _digest("artist", normalize_name(name))


def genre_id(name: str) -> str:
    return _digest("genre", normalize_name(name))


def album_title(name: str) -> str:
    """The first part of the ids of all albums of this name."""
    return _digest("title", normalize_name(name))


def album_artist(tags: Tags) -> str:
    """The artist who lists the album of a track: its tag, or else the first artist."""
    if tags.album_artist is not None:
        return tags.album_artist
    if tags.compilation:
        return VARIOUS_ARTISTS
    return tags.artists[0] if tags.artists else UNKNOWN_ARTIST


def album_name(tags: Tags) -> str:
    return tags.album or UNKNOWN_ALBUM


def album_key(tags: Tags) -> AlbumKey:
    """The key of a track's album: MusicBrainz id, or album artist and name, but never the date."""
    name = album_name(tags)
    if tags.album_mbid is not None:
        return AlbumKey(album_title(name), _digest("album", tags.album_mbid))
    named = _digest("album", normalize_name(album_artist(tags)), normalize_name(name))
    return AlbumKey(album_title(name), named)


def artists_of(tags: Tags) -> dict[str, str]:
    """The artists who list a track: its own and its album's, each once, names by ids."""
    names = (*tags.artists, album_artist(tags))
    return {artist_id(name): name for name in reversed(names)}


def genres_of(tags: Tags) -> dict[str, str]:
    """The genres of a track, each once, names by ids."""
    return {genre_id(name): name for name in reversed(tags.genres)}


def title_words(track: Tags) -> tuple[str, ...]:
    """The words of the title by which a track is found.

    Beyond 19 artists and genres there are fewer, so that an edit of all fits one transaction.
    """
    room = TITLE_ROOM - 2 * (len(artists_of(track)) + len(genres_of(track)))
    return name_words(search_form(track.title))[: max(room, 0)]


def artist_place(name: str) -> str:
    """The position of an artist in the list of artists, independent of the name's spelling."""
    return f"{escape(sort_name(name))}:{artist_id(name)}"


def genre_place(name: str) -> str:
    """The position of a genre in the list of genres, independent of the name's spelling."""
    return f"{escape(sort_name(name))}:{genre_id(name)}"


def album_place(tags: Tags) -> str:
    """The position of a track's album in the list of albums."""
    return f"{escape(sort_name(album_name(tags)))}:{album_key(tags).id}"


def album_place_of(album: Album) -> str:
    """The position of an album in the list of albums."""
    return f"{escape(sort_name(album.name))}:{album.id}"


def place_of_title(name: str) -> str:
    """The beginning of the positions of all albums of a name."""
    return f"{escape(sort_name(name))}:{album_title(name)}"


def place_of_album(name: str | None, id: str) -> str:
    """The position of an album in the list of albums, from its id and the tag of a track."""
    return f"{escape(sort_name(name or UNKNOWN_ALBUM))}:{id}"


def object_hash(key: str) -> str:
    """A digest of an object's key, as the key may be too long to be part of a row's key."""
    return _digest("object", key, letters=OBJECT_LETTERS)


def content_hash(etag: str, size: int) -> str:
    """A digest of an object's entity tag and size, which a moved object keeps."""
    return _digest("content", etag.strip('"'), str(size), letters=OBJECT_LETTERS)


def _digest(*parts: str, letters: int = ID_LETTERS) -> str:
    """Encode SHA-256 of the parts, five bits a letter; length prefixes keep parts separate."""
    texts = [part.encode() for part in parts]
    digest = sha256(b"".join(b"%d:%b" % (len(text), text) for text in texts)).digest()
    return b32encode(digest)[:letters].decode().lower()


def _truncate_name(text: str) -> str:
    """The longest beginning whose form in a key has at most SORT_BYTES bytes."""
    if MAX_CHARACTER_BYTES * len(text) <= SORT_BYTES or len(escape(text).encode()) <= SORT_BYTES:
        return text
    size = 0
    for n, letter in enumerate(text):
        size += len(escape(letter).encode())
        if size > SORT_BYTES:
            return text[:n]
    return text
