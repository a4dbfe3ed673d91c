"""Playlists: their lists and entries, and changes that keep the entries that stay."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Final

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.playlists.change_target import ChangeTarget, total_duration
from penstock.datastore.playlists.records import (
    ENTRIES_LIMIT,
    MAX_CHANGED,
    MAX_ENTRIES,
    Entry,
    Playlist,
)
from penstock.datastore.playlists.write import check_name
from penstock.server.opensubsonic.answers import Fields, SubsonicCode, SubsonicError
from penstock.server.opensubsonic.browsing import read_tracks, read_up_to, require_tracks
from penstock.server.opensubsonic.call import Call
from penstock.server.opensubsonic.elements import song_elements

MAX_PLAYLISTS: Final = 1_000
"""The most playlists of one answer, the newest ones."""


async def get_playlists(call: Call) -> Fields:
    found = await read_up_to(MAX_PLAYLISTS, call.session.playlists.reading.page)
    return {"playlists": {"playlist": [await _describe_listed(call, one) for one in found]}}


async def _describe_listed(call: Call, playlist: Playlist) -> Fields:
    chosen = None if playlist.rule is None else await _choose_entries(call, playlist)
    return _describe(playlist, chosen)


async def _choose_entries(call: Call, playlist: Playlist) -> Sequence[Entry]:
    return (await call.session.listening.ruled.choose(RuledRequest(playlist))).entries


async def get_playlist(call: Call) -> Fields:
    reading = call.session.playlists.reading
    return await _show(call, await reading.one(call.parameters.require("id")))


def _describe(playlist: Playlist, chosen: Sequence[Entry] | None = None) -> Fields:
    """Describe a playlist; the entries of a smart one are those `chosen`, and it is read-only."""
    described: Fields = {
        "id": playlist.id,
        "name": playlist.name,
        "owner": playlist.owner,
        "public": False,
        "songCount": playlist.entry_count,
        "duration": playlist.duration_ms // 1000,
        "created": playlist.created_at,
        "changed": playlist.updated_at,
    }
    if chosen is None:
        return described
    duration = total_duration(chosen) // 1000
    return {**described, "songCount": len(chosen), "duration": duration, "readonly": True}


async def _show(call: Call, playlist: Playlist) -> Fields:
    entries = await _read_entries(call, playlist)
    ids = list(dict.fromkeys(entry.audio_id for entry in entries if entry.audio_id))
    songs = {
        str(song["id"]): song
        for song in await song_elements(call.session, await read_tracks(call, ids))
    }
    shown = [songs.get(entry.audio_id or "") or _missing_song(entry) for entry in entries]
    chosen = None if playlist.rule is None else entries
    return {"playlist": {**_describe(playlist, chosen), "entry": shown}}


def _missing_song(entry: Entry) -> Fields:
    """Show an entry without a track, which cannot be played: positions must count it."""
    fields: Mapping[str, object] = {
        "id": entry.id,
        "isDir": False,
        "title": entry.title or entry.location or "",
        "artist": entry.artist,
        "album": entry.album,
        "duration": None if entry.duration_ms is None else entry.duration_ms // 1000,
    }
    return {name: value for name, value in fields.items() if value is not None}


async def _read_entries(call: Call, playlist: Playlist) -> list[Entry]:
    if playlist.rule is not None:
        return list(await _choose_entries(call, playlist))
    reading = call.session.playlists.reading
    return await read_up_to(MAX_ENTRIES, lambda window: reading.entries(playlist, window))


async def create_playlist(call: Call) -> Fields:
    """Create a playlist, or replace the tracks of one, as players do to reorder it."""
    id, ids = call.parameters.get("playlistId"), call.parameters.all("songId")
    name = call.parameters.get("name")
    _require_room(len(ids))
    if name:
        # A name that is refused when the tracks are replaced would come too late.
        check_name(name)
    if id:
        playlist = await call.session.playlists.reading.one(id)
        _require_own_entries(playlist)
        await require_tracks(call, list(dict.fromkeys(ids)))
        await _replace_entries(call, playlist, ids)
        if name:
            await call.session.playlists.writing.rename(id, name)
    else:
        name = call.parameters.require("name")
        await require_tracks(call, list(dict.fromkeys(ids)))
        id = (await call.session.playlists.writing.create(name)).id
        await _add(call, id, ids)
    return await _show(call, await call.session.playlists.reading.one(id))


async def _replace_entries(call: Call, playlist: Playlist, ids: Sequence[str]) -> None:
    """Keep the entries with which both lists begin and end; add before anything is removed.

    Entries cannot be added at the start, so without a common beginning all are replaced.
    """
    entries = await _read_entries(call, playlist)
    held = [entry.audio_id for entry in entries]
    begin = _count_equal(held, ids)
    end = _count_equal(held[begin:][::-1], ids[begin:][::-1]) if begin else 0
    added = ids[begin : len(ids) - end]
    removed = entries[begin : len(entries) - end]
    _require_room(len(entries) + len(added))
    after = entries[begin - 1].id if begin and end else None
    await _add(call, playlist.id, added, after)
    await _remove(call, playlist.id, [entry.id for entry in removed])


def _count_equal(held: Sequence[str | None], wanted: Sequence[str]) -> int:
    pairs = zip(held, wanted, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _require_room(count: int) -> None:
    if count > MAX_ENTRIES:
        raise LimitExceeded(ENTRIES_LIMIT, MAX_ENTRIES, count)


async def _add(call: Call, id: str, ids: Sequence[str], after: str | None = None) -> None:
    for start in range(0, len(ids), MAX_CHANGED):
        part = ids[start : start + MAX_CHANGED]
        _, added = await call.session.playlists.adding.add(ChangeTarget(id=id), part, after)
        after = added[-1].id if after is not None else None


async def _remove(call: Call, id: str, entry_ids: Sequence[str]) -> None:
    for start in range(0, len(entry_ids), MAX_CHANGED):
        part = entry_ids[start : start + MAX_CHANGED]
        await call.session.playlists.moving.remove(ChangeTarget(id=id), part)


async def update_playlist(call: Call) -> Fields:
    """Rename a playlist, remove entries by their positions, and add tracks to its end."""
    id, name = call.parameters.require("playlistId"), call.parameters.get("name")
    _refuse_unkept(call)
    playlist = await call.session.playlists.reading.one(id)
    added, positions = (
        call.parameters.all("songIdToAdd"),
        call.parameters.numbers("songIndexToRemove"),
    )
    if added or positions:
        _require_own_entries(playlist)
    await require_tracks(call, list(dict.fromkeys(added)))
    removed = await _entries_at(call, playlist, sorted(set(positions)))
    _require_room(playlist.entry_count - len(removed) + len(added))
    if name:
        await call.session.playlists.writing.rename(id, name)
    await _remove(call, id, removed)
    await _add(call, id, added)
    return {}


def _require_own_entries(playlist: Playlist) -> None:
    """Refuse to change the entries of a smart playlist, before anything else changes."""
    if playlist.rule is not None:
        message = "This playlist is smart: its rule decides on its entries."
        raise SubsonicError(SubsonicCode.NOT_AUTHORIZED, message)


def _refuse_unkept(call: Call) -> None:
    """Refuse what a playlist has no place for, rather than lose it."""
    if call.parameters.get("comment") or call.parameters.flag("public", default=False):
        message = "A playlist has no comment, and cannot be public."
        raise SubsonicError(SubsonicCode.GENERIC, message)


async def _entries_at(call: Call, playlist: Playlist, positions: Sequence[int]) -> list[str]:
    if not positions:
        return []
    entries = await _read_entries(call, playlist)
    if positions[-1] >= len(entries):
        raise SubsonicError(SubsonicCode.NOT_FOUND, "There is no entry at this position.")
    return [entries[position].id for position in positions]


async def delete_playlist(call: Call) -> Fields:
    await call.session.playlists.deleting.delete(call.parameters.require("id"))
    return {}
