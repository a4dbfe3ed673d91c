"""The rows and counters derived from a track; each write applies the difference of two sets."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import ObjectTaken
from penstock.datastore.name_search.word_rows import word_rows
from penstock.datastore.name_search.words import search_form
from penstock.datastore.resources.derived_rows import counter_writes, item_writes
from penstock.datastore.table.commit import Write
from penstock.datastore.table.counters import Counter, sum_counters
from penstock.datastore.table.keys import KeyPart
from penstock.datastore.table.layout import (
    ALBUM,
    ARTIST,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_BUCKET,
    AUDIO_BY_GENRE,
    AUDIO_MISSING,
    AUDIO_WORD,
    GENRE,
    LIBRARY,
)
from penstock.datastore.table.port import Attributes, Item, Key, Value, key_of


@dataclass(frozen=True, slots=True)
class TrackRows:
    """The rows that list tracks, and the counts that they add to their owner's library."""

    items: dict[Key, Item]
    counters: dict[Key, Counter]


NO_ROWS = TrackRows({}, {})


def track_rows(*tracks: Audio) -> TrackRows:
    """The derived rows of the tracks together."""
    items = {key_of(item): item for track in tracks for item in _link_rows(track)}
    return TrackRows(
        items, sum_counters(each for track in tracks for each in _track_counters(track))
    )


def row_changes(old: TrackRows, new: TrackRows) -> list[Write]:
    """The writes that turn the old rows and counters into the new ones, in a fixed order."""
    return [*item_writes(old.items, new.items), *counter_writes(old.counters, new.counters)]


def object_claim(track: Audio) -> Item:
    """The row that lists a track by its bucket; it also reserves the object for this track."""
    row = AUDIO_BY_BUCKET.item(
        user=track.owner, bucket=track.bucket, hash=names.object_hash(track.object_key)
    )
    return {**row, "audioId": track.id}


def object_taken(standing: Attributes | None) -> ObjectTaken:
    """The failure of a track whose object another track has."""
    return ObjectTaken(str(standing["audioId"]) if standing else "")


def _link_rows(track: Audio) -> Iterator[Item]:
    carried: dict[str, Value] = {"title": track.title, "durationMs": track.duration_ms}
    if track.album is not None:
        carried["album"] = track.album
    title, album = names.album_key(track)
    whose: dict[str, KeyPart] = {"user": track.owner, "audio": track.id}
    place: dict[str, KeyPart] = {**whose, "disc": track.disc, "track": track.track}
    yield {**AUDIO_BY_ALBUM.item(title=title, album=album, **place), **carried}
    for artist in names.artists_of(track):
        row = AUDIO_BY_ARTIST.item(artist=artist, year=track.year, album=album, **place)
        yield {**row, **carried}
    for genre in names.genres_of(track):
        yield {**AUDIO_BY_GENRE.item(genre=genre, **whose), **carried}
    if track.named:
        form, words = search_form(track.title), names.title_words(track)
        yield from word_rows(AUDIO_WORD, form, words, **whose).values()
    if track.missing_since is not None:
        content = names.content_hash(track.etag, track.size)
        yield AUDIO_MISSING.item(content=content, **whose)


def _track_counters(track: Audio) -> Iterator[Counter]:
    length = {"count": 1, "durationMs": track.duration_ms}
    yield Counter(LIBRARY.key(user=track.owner), {**length, "size": track.size})
    yield _album_counter(track, length)
    for artist, name in names.artists_of(track).items():
        key = ARTIST.key(user=track.owner, name=names.sort_name(name), artist=artist)
        yield Counter(key, {"count": 1}, spelling={"name": name})
    for genre, name in names.genres_of(track).items():
        key = GENRE.key(user=track.owner, name=names.sort_name(name), genre=genre)
        yield Counter(key, {"count": 1}, spelling={"name": name})


def _album_counter(track: Audio, length: dict[str, int]) -> Counter:
    name = names.album_name(track)
    key = ALBUM.key(user=track.owner, name=names.sort_name(name), album=names.album_key(track).id)
    news: dict[str, Value] = {"year": track.year, "artwork": track.artwork}
    latest = {field: value for field, value in news.items() if value}
    spelling = {"name": name, "albumArtist": names.album_artist(track)}
    return Counter(key, length, latest=latest, spelling=spelling)
