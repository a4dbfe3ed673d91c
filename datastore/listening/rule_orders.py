"""The ranks of tracks in the orders of rules: texts that sort as the order says."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.track_rules import HIGHEST, MAX_RATING
from penstock.datastore.listening.records import Annotation
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.playlists.rules import MAX_PLAYS, PlaylistRule, TrackOrder
from penstock.datastore.table.pages import name_order, shuffled_position
from penstock.datastore.text import escape

RankTrack: TypeAlias = Callable[[Audio, Annotation], str]

_REVERSED: Final = str.maketrans("0123456789", "9876543210")
_LAST: Final = "~"
_FIRST: Final = "0"


def order_name(playlist: Playlist, rule: PlaylistRule, now: datetime) -> str:
    """The name of the order that a rule draws: by its seed, or by the playlist and the day."""
    if rule.seed is not None:
        return name_order(rule.seed)
    return name_order(f"{playlist.id}:{now.date().isoformat()}")


def choose_rank(order: TrackOrder, drawn: str) -> RankTrack:
    """The ranks of an order; `drawn` is the name of the order RANDOM."""
    if order is TrackOrder.RANDOM:
        return lambda track, _: shuffled_position(drawn, track.id)
    return _RANKS[order]


def needs_annotations(order: TrackOrder) -> bool:
    """Whether the annotations of tracks decide on an order."""
    return order in _BY_ANNOTATIONS


def _by_artist(track: Audio) -> str:
    artist = track.artists[0] if track.artists else names.album_artist(track)
    return f"{escape(names.sort_name(artist))}:{track.year:04}:{_by_album(track)}"


def _by_album(track: Audio) -> str:
    title, album = names.album_key(track)
    name = escape(names.sort_name(names.album_name(track)))
    return f"{name}:{title}{album}:{track.disc:03}:{track.track:04}"


def _by_year(track: Audio) -> str:
    return f"{HIGHEST['year'] - track.year:04}:{_by_album(track)}"


def _latest_first(time: str | None) -> str:
    return _LAST if time is None else time.translate(_REVERSED)


_RANKS: Final[Mapping[TrackOrder, RankTrack]] = {
    TrackOrder.TITLE: lambda track, _: escape(names.sort_name(track.title)),
    TrackOrder.ARTIST: lambda track, _: _by_artist(track),
    TrackOrder.ALBUM: lambda track, _: _by_album(track),
    TrackOrder.YEAR: lambda track, _: _by_year(track),
    TrackOrder.NEWEST: lambda track, _: _latest_first(track.created_at),
    TrackOrder.OLDEST: lambda track, _: track.created_at,
    TrackOrder.MOST_PLAYED: lambda _, note: f"{MAX_PLAYS - min(note.play_count, MAX_PLAYS):010}",
    TrackOrder.LEAST_PLAYED: lambda _, note: f"{min(note.play_count, MAX_PLAYS):010}",
    TrackOrder.RECENTLY_PLAYED: lambda _, note: _latest_first(note.last_played_at),
    TrackOrder.LEAST_RECENTLY_PLAYED: lambda _, note: note.last_played_at or _FIRST,
    TrackOrder.HIGHEST_RATED: lambda _, note: f"{MAX_RATING - (note.rating or 0)}",
    TrackOrder.LATEST_FAVOURITE: lambda _, note: _latest_first(note.favourite_at),
}

_BY_ANNOTATIONS: Final = frozenset(
    (
        TrackOrder.MOST_PLAYED,
        TrackOrder.LEAST_PLAYED,
        TrackOrder.RECENTLY_PLAYED,
        TrackOrder.LEAST_RECENTLY_PLAYED,
        TrackOrder.HIGHEST_RATED,
        TrackOrder.LATEST_FAVOURITE,
    )
)
