"""Matches of tracks with the filter of a rule, by their tags and their annotations."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.listening.records import Annotation
from penstock.datastore.name_search.words import NameTerm, search_form
from penstock.datastore.playlists.rules import TrackFilter


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

    def matches(self, track: Audio, note: Annotation) -> bool:
        """Whether a track with this annotation matches."""
        return (
            self.matches_tags(track)
            and self.matches_annotation(note)
            and (not self.any_of or any(each.matches(track, note) for each in self.any_of))
            and not any(each.matches(track, note) for each in self.none_of)
        )

    def matches_tags(self, track: Audio) -> bool:
        """Whether the tags and the file match, as far as filters within do not decide."""
        return (
            self._matches_names(track)
            and _is_between(track.year or None, self.filter.from_year, self.filter.to_year)
            and (self.added_since is None or track.created_at >= self.added_since)
            and (self.title is None or self._matches_title(self.title, track))
            and (self.path is None or self.path in names.normalize_name(track.object_key))
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

    def _matches_names(self, track: Audio) -> bool:
        return (
            (not self.genres or _shares(self.genres, names.genres_of(track)))
            and (not self.artists or _shares(self.artists, names.artists_of(track)))
            and (not self.albums or names.album_title(names.album_name(track)) in self.albums)
        )

    def _matches_title(self, title: NameTerm, track: Audio) -> bool:
        return title.matches(search_form(track.title), lambda: names.title_words(track))


def _shares(wanted: frozenset[str], held: Iterable[str]) -> bool:
    return not wanted.isdisjoint(held)


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
