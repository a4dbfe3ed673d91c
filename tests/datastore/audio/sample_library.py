"""Listeners, tracks and the recount of a library, for tests of audio."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from penstock.datastore.audio.add_tracks import TrackDraft
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.names import (
    album_artist,
    album_key,
    artist_id,
    content_hash,
    genre_id,
    object_hash,
    sort_name,
)
from penstock.datastore.audio.object_keys import owned_prefix
from penstock.datastore.audio.records import Audio, AudioFile, AudioFormat, Tags
from penstock.datastore.audio.tracks import audio_of
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import Key, Table
from penstock.datastore.table.session_table import SessionTable
from tests.support.consistency_check import contents, escape_key, name_words, words_form

ANN = Caller("ann", {})
BOB = Caller("bob", {})

BUCKET = "penstock"
FILE_FIELDS = frozenset(AudioFile.__struct_fields__)


def draft(
    key: str, title: str = "Untitled", *artists: str, user: str = "ann", **more: Any
) -> TrackDraft:
    """A track whose object has the name `key` among the user's uploads, with any tags."""
    facts = {name: more.pop(name) for name in tuple(more) if name in FILE_FIELDS}
    file: dict[str, Any] = {
        "bucket": BUCKET,
        "object_key": owned_prefix(user) + key,
        "file_name": key,
        "duration_ms": 180_000,
        "format": AudioFormat.MP3,
        "size": 1_000_000,
        "etag": f'"{key}"',
        **facts,
    }
    return TrackDraft(Tags(title=title, artists=artists, **more), AudioFile(**file))


async def add(library: AudioLibrary, key: str, *rest: str, **more: Any) -> Audio:
    return await library.adding.add(
        *draft(key, *rest, user=library.reading.access.caller.user_id, **more)
    )


async def library_rows(table: Table) -> dict[Key, dict[str, Any]]:
    """Read the rows of the users' partitions by key, without the key attributes."""
    while isinstance(table, MeteredTable | SessionTable):
        table = table._table
    rows = await contents(table)
    return {
        key: {name: value for name, value in item.items() if name not in ("pk", "sk")}
        for key, item in rows.items()
        if key.pk.startswith("U:")
    }


async def drift(table: Table) -> list[str]:
    """Describe every library row that its tracks do not justify; empty if all are exact."""
    rows = await library_rows(table)
    tracks = [
        audio_of({"pk": key.pk, "sk": key.sk, **item})
        for key, item in rows.items()
        if key.sk.startswith("AU:")
    ]
    wanted = _expected_rows(tracks)
    standing = {key: _significant(key, item) for key, item in rows.items()}
    apart = ("AU:", "AC:", "CN:", "IJ:", "AN:", "FV:", "HI:", "PL:")
    standing = {key: facts for key, facts in standing.items() if not key.sk.startswith(apart)}
    return sorted(
        f"{key}: stands {standing.get(key)}, should be {wanted.get(key)}"
        for key in wanted.keys() | standing.keys()
        if wanted.get(key) != standing.get(key)
    )


def _significant(key: Key, item: Mapping[str, Any]) -> dict[str, Any]:
    if key.sk.startswith(("AR:", "AL:", "AG:", "U")):
        return {name: item[name] for name in ("count", "durationMs", "size") if name in item}
    kept = ("name", "title", "durationMs", "audioId", "album")
    return {name: item[name] for name in kept if name in item}


def _expected_rows(tracks: list[Audio]) -> dict[Key, dict[str, Any]]:
    wanted: dict[Key, dict[str, Any]] = {}
    counts: dict[Key, Counter[str]] = defaultdict(Counter)
    for track in tracks:
        pk = f"U:{escape_key(track.owner)}"
        for sk, facts in _links(track).items():
            assert Key(pk, sk) not in wanted
            wanted[Key(pk, sk)] = facts
        for sk, amounts in _counters(track).items():
            counts[Key(pk, sk)].update(amounts)
    return {**wanted, **{key: dict(amounts) for key, amounts in counts.items()}}


def _links(track: Audio) -> dict[str, dict[str, Any]]:
    title, album = album_key(track)
    facts = {"title": track.title, "durationMs": track.duration_ms}
    if track.album:
        facts["album"] = track.album
    place = f"{track.disc:03}:{track.track:04}:{track.id}"
    found: dict[str, dict[str, Any]] = {f"AUL:{title}:{album}:{place}": facts}
    found[f"AUB:{escape_key(track.bucket)}:{object_hash(track.object_key)}"] = {"audioId": track.id}
    if track.missing_since is not None:
        found[f"AUX:{content_hash(track.etag, track.size)}:{track.id}"] = {}
    for artist in _artist_ids(track):
        found[f"AUR:{artist}:{track.year:04}:{album}:{place}"] = facts
    room = max(0, 46 - 2 * (len(_artist_ids(track)) + len({*map(genre_id, track.genres)})))
    form = words_form(track.title)
    for word in name_words(form)[:room] if track.named else ():
        found[f"AUW:{word}:{track.id}"] = {"name": form}
    for genre in {genre_id(name) for name in track.genres}:
        found[f"AUG:{genre}:{track.id}"] = facts
    return found


def _artist_ids(track: Audio) -> set[str]:
    return {artist_id(name) for name in (*track.artists, album_artist(track))}


def _counters(track: Audio) -> dict[str, dict[str, int]]:
    length = {"count": 1, "durationMs": track.duration_ms}
    album = sort_name(track.album or "[Unknown Album]")
    found = {
        "U": {**length, "size": track.size},
        f"AL:{escape_key(album)}:{album_key(track).id}": length,
    }
    for name in (*track.artists, album_artist(track)):
        found[f"AR:{escape_key(sort_name(name))}:{artist_id(name)}"] = {"count": 1}
    for name in track.genres:
        found[f"AG:{escape_key(sort_name(name))}:{genre_id(name)}"] = {"count": 1}
    return found


def listener(store: Store, caller: Caller = ANN) -> AudioLibrary:
    return store.open_session(caller).audio
