"""Matches of tracks with the filter of a rule, by their tags and their annotations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import Final, TypeAlias

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.records import Annotation
from penstock.datastore.name_search.words import NameTerm, search_form
from penstock.datastore.playlists.rules import TrackFilter

MeasureTexts: TypeAlias = Callable[[Audio], int]
"""Counts the characters of some texts of a track."""


def _measure_artists(track: Audio) -> int:
    return sum(map(len, track.artists)) + len(names.album_artist(track))


def _measure_genres(track: Audio) -> int:
    return sum(map(len, track.genres))


def _measure_album(track: Audio) -> int:
    return len(names.album_name(track))


def _measure_title(track: Audio) -> int:
    return len(track.title)


def _measure_path(track: Audio) -> int:
    return len(track.object_key)


_MEASURES: Final[Mapping[str, MeasureTexts]] = {
    "artists": _measure_artists,
    "genres": _measure_genres,
    "albums": _measure_album,
    "title": _measure_title,
    "path": _measure_path,
}
"""The measures by the fields of a matcher with which these texts are compared."""


class TrackForms:
    """The names and texts of a track in the forms in which filters compare them, each made once."""

    def __init__(self, track: Audio) -> None:
        self.track = track

    @cached_property
    def genres(self) -> Collection[str]:
        return names.genres_of(self.track)

    @cached_property
    def artists(self) -> Collection[str]:
        return names.artists_of(self.track)

    @cached_property
    def albums(self) -> Collection[str]:
        return (names.album_title(names.album_name(self.track)),)

    @cached_property
    def title(self) -> str:
        return search_form(self.track.title)

    @cached_property
    def title_words(self) -> Sequence[str]:
        return names.title_words(self.track)

    @cached_property
    def path(self) -> str:
        return names.normalize_name(self.track.object_key)


@dataclass(frozen=True, slots=True)
class FilterMatcher:
    """A filter with its names and parts of texts in the forms in which they are compared.

    `played_since` and `added_since` are the latest of the times that the filter names, as of the
    time when the matcher was made.
    """

    filter: TrackFilter
    genres: frozenset[str]
    artists: frozenset[str]
    albums: frozenset[str]
    title: NameTerm | None
    path: str | None
    played_since: str | None
    added_since: str | None
    any_of: tuple["FilterMatcher", ...]
    none_of: tuple["FilterMatcher", ...]

    @classmethod
    def of(cls, filter: TrackFilter, now: datetime) -> "FilterMatcher":
        title = filter.title
        return cls(
            filter,
            frozenset(map(names.genre_id, filter.genres)),
            frozenset(map(names.artist_id, filter.artists)),
            frozenset(map(names.album_title, filter.albums)),
            None if title is None else title.term("title"),
            None if filter.path is None else names.normalize_name(filter.path),
            _latest(filter.played_since, filter.played_within_days, now),
            _latest(filter.added_since, filter.added_within_days, now),
            tuple(cls.of(each, now) for each in filter.any_of),
            tuple(cls.of(each, now) for each in filter.none_of),
        )

    @property
    def needs_annotations(self) -> bool:
        """Whether an annotation decides, here or in a filter within."""
        own = (
            self.filter.favourite,
            self.filter.min_rating,
            self.filter.max_rating,
            self.filter.min_plays,
            self.filter.max_plays,
            self.played_since,
        )
        within = (*self.any_of, *self.none_of)
        return any(each is not None for each in own) or any(m.needs_annotations for m in within)

    @property
    def finds_only_annotated(self) -> bool:
        """Whether no track without an annotation can match."""
        filter = self.filter
        return (
            filter.favourite is True
            or bool(filter.min_rating)
            or bool(filter.min_plays)
            or self.played_since is not None
            or (bool(self.any_of) and all(each.finds_only_annotated for each in self.any_of))
        )

    def count_names(self, track: Audio) -> int:
        """Count the names of a track that are compared, here or in a filter within."""
        found = 0
        if self.compares(lambda each: each.artists):
            found += len(track.artists) + 1
        if self.compares(lambda each: each.genres):
            found += len(track.genres)
        return found

    def measures(self) -> Sequence[MeasureTexts]:
        """The measures of the texts that are compared, here or in a filter within."""
        return [one for name, one in _MEASURES.items() if self.compares(attrgetter(name))]

    def compares(self, read: Callable[["FilterMatcher"], object]) -> bool:
        """Whether there is such a name or text, here or in a filter within."""
        within = (*self.any_of, *self.none_of)
        return bool(read(self)) or any(each.compares(read) for each in within)

    def matches(self, forms: TrackForms, note: Annotation) -> bool:
        """Whether a track with this annotation matches."""
        return (
            self.matches_tags(forms)
            and self.matches_annotation(note)
            and (not self.any_of or any(each.matches(forms, note) for each in self.any_of))
            and not any(each.matches(forms, note) for each in self.none_of)
        )

    def matches_tags(self, forms: TrackForms) -> bool:
        """Whether the tags and the file match, as far as filters within do not decide."""
        track = forms.track
        return (
            self._matches_names(forms)
            and _is_between(track.year or None, self.filter.from_year, self.filter.to_year)
            and (self.added_since is None or track.created_at >= self.added_since)
            and (self.title is None or self.title.matches(forms.title, lambda: forms.title_words))
            and (self.path is None or self.path in forms.path)
        )

    def matches_annotation(self, note: Annotation) -> bool:
        """Whether the annotation matches, as far as filters within do not decide."""
        filter = self.filter
        played = note.last_played_at or ""
        return (
            (filter.favourite is None or filter.favourite is (note.favourite_at is not None))
            and _is_between(note.rating or 0, filter.min_rating, filter.max_rating)
            and _is_between(note.play_count, filter.min_plays, filter.max_plays)
            and (self.played_since is None or played >= self.played_since)
        )

    def _matches_names(self, forms: TrackForms) -> bool:
        return (
            (not self.genres or not self.genres.isdisjoint(forms.genres))
            and (not self.artists or not self.artists.isdisjoint(forms.artists))
            and (not self.albums or not self.albums.isdisjoint(forms.albums))
        )


def _is_between(value: int | None, low: int | None, high: int | None) -> bool:
    """Whether a value is in a span; no value is in no span but the unlimited one."""
    if value is None:
        return low is None and high is None
    return (low is None or value >= low) and (high is None or value <= high)


def _latest(since: str | None, within_days: int | None, now: datetime) -> str | None:
    times = [] if since is None else [since]
    if within_days is not None:
        times.append(iso_timestamp(now - timedelta(days=within_days)))
    return max(times, default=None)
