"""Reads and writes of playlists that take more than one call of a repository."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.listening.ruled_entries import ChosenEntries, RuledRequest
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.formats.document import PlaylistFormat
from penstock.datastore.playlists.formats.files import PlaylistFile, playlist_file, read
from penstock.datastore.playlists.import_playlist import ImportOptions, ImportResult
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rules import PlaylistRule
from penstock.datastore.playlists.uploaded_files import UploadedFile
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context


class ObjectKey(NamedTuple):
    """The key of an uploaded playlist file."""

    key: str


async def list_playlists(context: Context, window: Window, newest_first: bool) -> Slice[Playlist]:
    """Read a page of playlists, and put them into the loader."""
    found = await context.session.playlists.reading.page(window, newest_first=newest_first)
    for _, playlist in found.entries:
        context.loaders.listener.playlists.prime(playlist.id, playlist)
    return found


async def list_entries(context: Context, playlist: Playlist, window: Window) -> Slice[Entry]:
    """Read a page of entries; those of a smart playlist are chosen once for a request."""
    if playlist.rule is None:
        return await context.loaders.listener.entries.load((playlist, window))
    request = RuledRequest.behind(playlist, window.after)
    return (await context.loaders.listener.ruled.load(request)).page(window)


async def count_entries(context: Context, playlist: Playlist) -> int:
    if playlist.rule is None:
        return playlist.entry_count
    return len((await _choose_entries(context, playlist)).entries)


async def total_duration(context: Context, playlist: Playlist) -> int:
    """The total length of the entries in milliseconds."""
    if playlist.rule is None:
        return playlist.duration_ms
    return (await _choose_entries(context, playlist)).duration_ms


async def _choose_entries(context: Context, playlist: Playlist) -> ChosenEntries:
    return await context.loaders.listener.ruled.load(RuledRequest(playlist))


async def load_track(context: Context, entry: Entry) -> Audio | None:
    """Load the track of an entry; None if the entry never had one, or it was deleted."""
    try:
        return await context.loaders.audio.tracks.load(entry.audio_id) if entry.audio_id else None
    except NotFound:
        return None


async def create(
    context: Context, name: str, idempotency_key: str | None, rule: PlaylistRule | None
) -> Playlist:
    created = await context.session.playlists.writing.create(name, idempotency_key, rule)
    return _renew_playlist(context, created)


def draft_smart(context: Context, rule: PlaylistRule) -> Playlist:
    """Make a smart playlist that is not stored, whose entries can be read."""
    return context.session.playlists.writing.draft(rule)


async def rename(context: Context, id: str, name: str, expected: int | None) -> Playlist:
    return _renew_playlist(
        context, await context.session.playlists.writing.rename(id, name, expected)
    )


async def set_rule(context: Context, id: str, rule: PlaylistRule, expected: int | None) -> Playlist:
    changed = await context.session.playlists.writing.set_rule(id, rule, expected)
    return _renew_playlist(context, changed)


async def delete(context: Context, id: str, expected: int | None) -> Playlist:
    deleted = await context.session.playlists.deleting.delete(id, expected)
    return _renew_playlist(context, deleted)


async def add(
    context: Context,
    target: ChangeTarget,
    audio_ids: Sequence[str],
    after: str | None,
    idempotency_key: str | None,
    *,
    skip_duplicates: bool,
) -> tuple[Playlist, tuple[Entry, ...]]:
    adding = context.session.playlists.adding
    playlist, added = await adding.add(
        target, audio_ids, after, idempotency_key, skip_duplicates=skip_duplicates
    )
    return _renew_playlist(context, playlist), added


async def move(
    context: Context, target: ChangeTarget, entry_ids: Sequence[str], after: str | None
) -> Playlist:
    moved = await context.session.playlists.moving.move(target, entry_ids, after)
    return _renew_playlist(context, moved)


async def remove(context: Context, target: ChangeTarget, entry_ids: Sequence[str]) -> Playlist:
    return _renew_playlist(
        context, await context.session.playlists.moving.remove(target, entry_ids)
    )


async def export_file(
    context: Context, id: str, format: PlaylistFormat, *, playable: bool
) -> PlaylistFile:
    """Write a playlist file in a thread, since a long one would block the event loop.

    A `playable` one has URLs by which any player opens the tracks.

    Raises RateLimited for a caller who is in debt for what this operation did before.
    """
    context.session.work.spend_more(1)
    playlist = await context.loaders.listener.playlists.load(id)
    locate = context.session.audio.streaming.locate_streams if playable else None
    chosen = None
    if playlist.rule is not None:
        chosen = (await _choose_entries(context, playlist)).entries
    document = await context.session.playlists.exporting.document(playlist, locate, chosen)
    payer = context.session.payer
    return await run_in_request_thread(lambda _: playlist_file(format, document), payer)


async def import_file(
    context: Context, format: PlaylistFormat, data: str | bytes | ObjectKey, wish: ImportOptions
) -> ImportResult:
    """Read a playlist file and make a playlist of it, in a thread; an uploaded one in parts.

    Raises RateLimited for a caller who is in debt for what this operation did before.
    """
    context.session.work.spend_more(1)
    importing = context.session.playlists.importing
    if isinstance(data, ObjectKey):
        found = await importing.run_uploaded(UploadedFile(data.key, format), wish)
    else:
        document = await run_in_request_thread(
            lambda work: read(format, data, work.require_wanted), context.session.payer
        )
        found = await importing.run(document, wish)
    if found.playlist is not None:
        _renew_playlist(context, found.playlist)
    return found


def _renew_playlist(context: Context, written: Playlist) -> Playlist:
    """Let later fields of the request see the playlist as written, or before it was deleted."""
    context.loaders.listener.playlists.clear(written.id).prime(written.id, written)
    context.loaders.listener.holding.clear_all()
    return written
