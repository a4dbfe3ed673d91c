"""The rules of smart playlists, as clients write and read them."""

from typing import Any

import strawberry
from strawberry import UNSET

from penstock.datastore.playlists import rules
from penstock.datastore.playlists.formats.document import MAX_TRACKS
from penstock.datastore.playlists.rules import (
    MAX_DAYS,
    MAX_FILTERS,
    MAX_NAMES,
    MAX_SEED,
    TrackOrder,
)
from penstock.schema.core.context import input_records, unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import DateTime

strawberry.enum(TrackOrder, description="The order of the tracks of a smart playlist.")
describe_values(
    TrackOrder,
    {
        TrackOrder.TITLE: "By title, without a leading article.",
        TrackOrder.ARTIST: "By the first artist, then by year, album, disc number and track "
        "number.",
        TrackOrder.ALBUM: "By album, disc number and track number.",
        TrackOrder.YEAR: "By year, the latest first, then by album.",
        TrackOrder.NEWEST: "By the time when the tracks were added, the latest first.",
        TrackOrder.OLDEST: "By the time when the tracks were added, the earliest first.",
        TrackOrder.MOST_PLAYED: "By the number of counted plays, the most first.",
        TrackOrder.LEAST_PLAYED: "By the number of counted plays, the fewest first.",
        TrackOrder.RECENTLY_PLAYED: "By the latest counted play, the latest first; tracks that "
        "were never played come last.",
        TrackOrder.LEAST_RECENTLY_PLAYED: "By the latest counted play, the earliest first; tracks "
        "that were never played come before them.",
        TrackOrder.HIGHEST_RATED: "By rating, the highest first; tracks without one come last.",
        TrackOrder.LATEST_FAVOURITE: "By the time when the tracks became favourites, the latest "
        "first; other tracks come last.",
        TrackOrder.RANDOM: "In an order that the seed draws, or that is another one on each day in "
        "UTC.",
    },
)

_GENRES = "The genres of which a track has one; upper and lower case are the same."
_ARTISTS = "The names of artists, one of whom is an artist of the track or of its album."
_ALBUMS = "The names of albums, one of which is that of the track."
_STARTS = "The beginning of the title; case and accents make no difference."
_CONTAINS = "Beginnings of words of the title, in any order, as in `NameFilter`."
_PATH = "A part of the key of the object; upper and lower case are the same."
_FROM_YEAR = "The earliest year; a track without a year has none."
_TO_YEAR = "The latest year; a track without a year has none."
_FAVOURITE = "True for favourites, false for tracks that are none."
_MIN_RATING = "The lowest rating; a track that the caller has not rated has 0."
_MAX_RATING = "The highest rating; a track that the caller has not rated has 0."
_MIN_PLAYS = "The smallest number of counted plays."
_MAX_PLAYS = "The largest number of counted plays."
_PLAYED_SINCE = "The time at or after which the latest counted play began, in UTC."
_PLAYED_DAYS = f"The days before now within which it began: 1 to {MAX_DAYS}."
_ADDED_SINCE = "The time at or after which the track was added, in UTC."
_ADDED_DAYS = f"The days before now within which it was added: 1 to {MAX_DAYS}."
_ANY_OF = "Filters of which one must match."
_NONE_OF = "Filters of which none may match."
_LIMIT = f"The most tracks, the first ones of the order: 1 to {MAX_TRACKS}."


@strawberry.type(description="A filter of tracks, all of whose conditions hold.")
class TrackFilter:
    genres: list[str] = strawberry.field(description=_GENRES)
    artists: list[str] = strawberry.field(description=_ARTISTS)
    albums: list[str] = strawberry.field(description=_ALBUMS)
    title_starts_with: str | None = strawberry.field(description=_STARTS)
    title_contains: str | None = strawberry.field(description=_CONTAINS)
    path: str | None = strawberry.field(description=_PATH)
    from_year: int | None = strawberry.field(description=_FROM_YEAR)
    to_year: int | None = strawberry.field(description=_TO_YEAR)
    favourite: bool | None = strawberry.field(description=_FAVOURITE)
    min_rating: int | None = strawberry.field(description=_MIN_RATING)
    max_rating: int | None = strawberry.field(description=_MAX_RATING)
    min_plays: int | None = strawberry.field(description=_MIN_PLAYS)
    max_plays: int | None = strawberry.field(description=_MAX_PLAYS)
    played_since: DateTime | None = strawberry.field(description=_PLAYED_SINCE)
    played_within_days: int | None = strawberry.field(description=_PLAYED_DAYS)
    added_since: DateTime | None = strawberry.field(description=_ADDED_SINCE)
    added_within_days: int | None = strawberry.field(description=_ADDED_DAYS)
    any_of: list["TrackFilter"] = strawberry.field(description=_ANY_OF)
    none_of: list["TrackFilter"] = strawberry.field(description=_NONE_OF)


@strawberry.type(
    description="The rule of a smart playlist: a filter, an order, and the most tracks."
)
class PlaylistRule:
    filter: rules.TrackFilter = strawberry.field(
        graphql_type=TrackFilter, description="The filter; it has no condition for all tracks."
    )
    order: TrackOrder = strawberry.field(description="The order of the tracks.")
    seed: str | None = strawberry.field(description="The text that draws the order RANDOM.")
    limit: int = strawberry.field(description=_LIMIT)


def _declare_condition(condition: str) -> Any:
    """The field of a condition that clients may leave out."""
    return strawberry.field(default=UNSET, description=f"{condition} No condition if left out.")


@strawberry.input(
    description="A filter of tracks, all of whose conditions hold. A rule has at most "
    f"{MAX_FILTERS} filters, with those inside others, and a list at most {MAX_NAMES} names."
)
class TrackFilterInput:
    genres: list[str] | None = _declare_condition(_GENRES)
    artists: list[str] | None = _declare_condition(_ARTISTS)
    albums: list[str] | None = _declare_condition(_ALBUMS)
    title_starts_with: str | None = _declare_condition(_STARTS)
    title_contains: str | None = _declare_condition(_CONTAINS)
    path: str | None = _declare_condition(_PATH)
    from_year: int | None = _declare_condition(_FROM_YEAR)
    to_year: int | None = _declare_condition(_TO_YEAR)
    favourite: bool | None = _declare_condition(_FAVOURITE)
    min_rating: int | None = _declare_condition(_MIN_RATING)
    max_rating: int | None = _declare_condition(_MAX_RATING)
    min_plays: int | None = _declare_condition(_MIN_PLAYS)
    max_plays: int | None = _declare_condition(_MAX_PLAYS)
    played_since: DateTime | None = _declare_condition(_PLAYED_SINCE)
    played_within_days: int | None = _declare_condition(_PLAYED_DAYS)
    added_since: DateTime | None = _declare_condition(_ADDED_SINCE)
    added_within_days: int | None = _declare_condition(_ADDED_DAYS)
    any_of: list["TrackFilterInput"] | None = _declare_condition(_ANY_OF)
    none_of: list["TrackFilterInput"] | None = _declare_condition(_NONE_OF)

    def record(self) -> rules.TrackFilter:
        """The filter of the datastore."""
        return rules.TrackFilter(
            genres=tuple(unset_to_none(self.genres) or ()),
            artists=tuple(unset_to_none(self.artists) or ()),
            albums=tuple(unset_to_none(self.albums) or ()),
            title_starts_with=unset_to_none(self.title_starts_with),
            title_contains=unset_to_none(self.title_contains),
            path=unset_to_none(self.path),
            from_year=unset_to_none(self.from_year),
            to_year=unset_to_none(self.to_year),
            favourite=unset_to_none(self.favourite),
            min_rating=unset_to_none(self.min_rating),
            max_rating=unset_to_none(self.max_rating),
            min_plays=unset_to_none(self.min_plays),
            max_plays=unset_to_none(self.max_plays),
            played_since=unset_to_none(self.played_since),
            played_within_days=unset_to_none(self.played_within_days),
            added_since=unset_to_none(self.added_since),
            added_within_days=unset_to_none(self.added_within_days),
            any_of=input_records(unset_to_none(self.any_of)),
            none_of=input_records(unset_to_none(self.none_of)),
        )


@strawberry.input(
    description="The rule of a smart playlist: a filter, an order, and the most tracks."
)
class PlaylistRuleInput:
    filter: TrackFilterInput | None = strawberry.field(
        default=UNSET, description="The filter; all tracks if left out."
    )
    order: TrackOrder = strawberry.field(description="The order of the tracks.")
    seed: str | None = strawberry.field(
        default=UNSET,
        description=f"A text of at most {MAX_SEED} characters that draws the order RANDOM, always "
        "the same one; if left out, each day in UTC has another order.",
    )
    limit: int | None = strawberry.field(default=MAX_TRACKS, description=_LIMIT)

    def record(self) -> rules.PlaylistRule:
        """The rule of the datastore."""
        filter = unset_to_none(self.filter)
        return rules.PlaylistRule(
            filter=rules.EVERY_TRACK if filter is None else filter.record(),
            order=self.order,
            seed=unset_to_none(self.seed),
            limit=MAX_TRACKS if self.limit is None else self.limit,
        )
