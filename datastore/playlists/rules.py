"""The rules of smart playlists: a filter of tracks, an order and a bound, with their checks."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec.structs import fields

from penstock.datastore.audio.track_rules import HIGHEST, MAX_KEY, MAX_NAME, MAX_RATING
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.playlists.formats.document import MAX_TRACKS
from penstock.datastore.records import StoredRecord
from penstock.datastore.text import line_problem

MAX_FILTERS: Final = 20
"""The most filters of a rule, with those inside others."""

MAX_NAMES: Final = 20
MAX_SEED: Final = 128
MAX_DAYS: Final = 36_500
MAX_PLAYS: Final = 10**9


class TrackOrder(StrEnum):
    """The order of a smart playlist; tracks that are equal in it are ordered by their ids."""

    TITLE = "title"
    ARTIST = "artist"
    ALBUM = "album"
    YEAR = "year"
    NEWEST = "newest"
    OLDEST = "oldest"
    MOST_PLAYED = "mostPlayed"
    LEAST_PLAYED = "leastPlayed"
    RECENTLY_PLAYED = "recentlyPlayed"
    LEAST_RECENTLY_PLAYED = "leastRecentlyPlayed"
    HIGHEST_RATED = "highestRated"
    LATEST_FAVOURITE = "latestFavourite"
    RANDOM = "random"


class TrackFilter(StoredRecord, frozen=True, kw_only=True):
    """A filter of tracks, all of whose conditions hold; None and empty lists are no condition.

    A track without a rating has the rating 0, one without a year none. `any_of` holds if one of
    the filters does, `none_of` if none does.
    """

    genres: tuple[str, ...] = ()
    artists: tuple[str, ...] = ()
    albums: tuple[str, ...] = ()
    title_starts_with: str | None = None
    title_contains: str | None = None
    path: str | None = None
    from_year: int | None = None
    to_year: int | None = None
    favourite: bool | None = None
    min_rating: int | None = None
    max_rating: int | None = None
    min_plays: int | None = None
    max_plays: int | None = None
    played_since: str | None = None
    played_within_days: int | None = None
    added_since: str | None = None
    added_within_days: int | None = None
    any_of: tuple["TrackFilter", ...] = ()
    none_of: tuple["TrackFilter", ...] = ()

    @property
    def title(self) -> NameFilter | None:
        """The part of the title; None for any title."""
        if self.title_starts_with is None and self.title_contains is None:
            return None
        return NameFilter(starts_with=self.title_starts_with, contains=self.title_contains)


EVERY_TRACK: Final = TrackFilter()


class PlaylistRule(StoredRecord, frozen=True, kw_only=True):
    """The rule of a smart playlist: the first `limit` tracks of a filter in an order.

    `seed` draws the order RANDOM; without one each day has its own.
    """

    filter: TrackFilter = EVERY_TRACK
    order: TrackOrder
    seed: str | None = None
    limit: int

    def require_valid(self) -> None:
        """Raise Invalid with every problem of the rule."""
        problems = [*_rule_problems(self), *_filter_problems(self.filter, ["rule", "filter"])]
        count = sum(1 for _ in _walk_filters(self.filter))
        if count > MAX_FILTERS:
            words = f"has {count} filters; at most {MAX_FILTERS} are allowed"
            problems.append(FieldProblem(["rule", "filter"], words))
        if problems:
            raise Invalid(problems)


class _Span(NamedTuple):
    """A pair of fields with the lowest and the highest value that a condition allows."""

    low: str
    high: str
    highest: int


_SPANS: Final = (
    _Span("from_year", "to_year", HIGHEST["year"]),
    _Span("min_rating", "max_rating", MAX_RATING),
    _Span("min_plays", "max_plays", MAX_PLAYS),
)
_FIELDS: Final = {field.name: field.encode_name for field in fields(TrackFilter)}


def _rule_problems(rule: PlaylistRule) -> Iterator[FieldProblem]:
    if not 1 <= rule.limit <= MAX_TRACKS:
        yield FieldProblem(["rule", "limit"], f"must be 1 to {MAX_TRACKS}")
    if rule.seed is not None:
        if rule.order is not TrackOrder.RANDOM:
            yield FieldProblem(["rule", "seed"], "can be used with the order RANDOM only")
        elif message := line_problem(rule.seed, MAX_SEED):
            yield FieldProblem(["rule", "seed"], message)


def _filter_problems(filter: TrackFilter, path: list[str]) -> Iterator[FieldProblem]:
    yield from _text_problems(filter, path)
    for span in _SPANS:
        yield from _span_problems(filter, span, path)
    for name in ("played_within_days", "added_within_days"):
        days = getattr(filter, name)
        if days is not None and not 1 <= days <= MAX_DAYS:
            yield FieldProblem([*path, _FIELDS[name]], f"must be 1 to {MAX_DAYS}")
    for name, inner in (("anyOf", filter.any_of), ("noneOf", filter.none_of)):
        for n, each in enumerate(inner):
            place = [*path, name, str(n)]
            if each == EVERY_TRACK:
                yield FieldProblem(place, "must have a condition")
            yield from _filter_problems(each, place)


def _text_problems(filter: TrackFilter, path: list[str]) -> Iterator[FieldProblem]:
    for name, texts in (
        ("genres", filter.genres),
        ("artists", filter.artists),
        ("albums", filter.albums),
    ):
        yield from _name_problems(texts, [*path, name])
    if filter.path is not None and (message := line_problem(filter.path, MAX_KEY)):
        yield FieldProblem([*path, "path"], message)
    if filter.title_starts_with is not None and filter.title_contains is not None:
        words = "cannot be used together with titleContains"
        yield FieldProblem([*path, "titleStartsWith"], words)
    elif (title := filter.title) is not None:
        try:
            title.term("title")
        except Invalid as invalid:
            name = "titleContains" if title.starts_with is None else "titleStartsWith"
            for problem in invalid.problems:
                yield FieldProblem([*path, name], problem.message)


def _name_problems(names: Sequence[str], path: list[str]) -> Iterator[FieldProblem]:
    if len(names) > MAX_NAMES:
        yield FieldProblem(path, f"at most {MAX_NAMES} are allowed")
        return
    for n, name in enumerate(names):
        if message := line_problem(name, MAX_NAME):
            yield FieldProblem([*path, str(n)], message)


def _span_problems(filter: TrackFilter, span: _Span, path: list[str]) -> Iterator[FieldProblem]:
    low, high = getattr(filter, span.low), getattr(filter, span.high)
    for name, value in ((span.low, low), (span.high, high)):
        if value is not None and not 0 <= value <= span.highest:
            yield FieldProblem([*path, _FIELDS[name]], f"must be 0 to {span.highest}")
    if low is not None and high is not None and low > high:
        words = f"must not be below {_FIELDS[span.low]}"
        yield FieldProblem([*path, _FIELDS[span.high]], words)


def _walk_filters(filter: TrackFilter) -> Iterator[TrackFilter]:
    yield filter
    for inner in (*filter.any_of, *filter.none_of):
        yield from _walk_filters(inner)
