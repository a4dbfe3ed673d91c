"""Counts of the tags of those resources that match a filter, made while the search reads them.

The counters of a group know nothing of filters. A search reads every match once, with all its
tags, so that it can count them exactly; where its budget ends, nothing is counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.datastore.errors import NotFound
from penstock.datastore.records import Resource, Tag, TagKey, TagValue
from penstock.datastore.resources.reading import MATCH_FIELDS, Listing, ListRequest, ResourceReader
from penstock.datastore.resources.tags_in_use import check_lengths
from penstock.datastore.table.keys import join_levels, split_levels
from penstock.datastore.table.pages import Slice, Window, make_slice
from penstock.datastore.tag_search.tags import level_names, value_levels
from penstock.datastore.text import comparison_form, escape, unescape

R = TypeVar("R", bound=Resource)


@dataclass(slots=True)
class _Total:
    """The matches with one key or value, those with a value below it, and the earliest of all."""

    earliest: str
    count: int = 0
    deeper: int = 0

    def add(self, id: str, *, is_deeper: bool) -> None:
        self.earliest = min(self.earliest, id)
        self.count += 1
        self.deeper += is_deeper


@dataclass(frozen=True, slots=True)
class CountedTags(Generic[R]):
    """The totals of a search by their position in the list; counts only if it `is_complete`.

    `met` are the matches that the search met, also those without tags.
    """

    reading: ResourceReader[R]
    is_complete: bool
    totals: Mapping[str, _Total]
    met: int

    @property
    def match_count(self) -> int | None:
        return self.met if self.is_complete else None

    async def keys(self, window: Window) -> Slice[TagKey]:
        """Return a page of the keys, each as its earliest match wrote it."""
        found = self._slice(window)
        tags = await self._earliest_tags(found)
        return found.with_items(
            [
                TagKey(
                    key=(key := unescape(place)),
                    label=_key_label(key, tags[total.earliest]),
                    count=self._count(total),
                )
                for place, total in found.entries
            ]
        )

    async def values(self, key: str, window: Window) -> Slice[TagValue]:
        """Return a page of the values of a key, each as its earliest match wrote it."""
        found = self._slice(window)
        tags = await self._earliest_tags(found)
        key = comparison_form(key)
        return found.with_items(
            [
                TagValue(
                    key=key,
                    value="/".join(levels := split_levels(place)),
                    label=_level_label(key, levels, tags[total.earliest]),
                    count=self._count(total),
                    deeper=total.deeper,
                )
                for place, total in found.entries
            ]
        )

    def _count(self, total: _Total) -> int | None:
        return total.count if self.is_complete else None

    def _slice(self, window: Window) -> Slice[_Total]:
        after = window.after
        is_ahead: Callable[[str], bool] = (
            (lambda _: True) if after is None else after.__gt__ if window.backward else after.__lt__
        )
        ahead = sorted(
            (one for one in self.totals.items() if is_ahead(one[0])), reverse=window.backward
        )
        found = make_slice(ahead, window, lambda entry: entry[0], more=False)
        return found.with_items([total for _, (_, total) in found.entries])

    async def _earliest_tags(self, found: Slice[_Total]) -> Mapping[str, tuple[Tag, ...]]:
        """Get latest: the tags, as written, of the earliest match of each total."""
        ids = list({total.earliest for _, total in found.entries})
        records = await self.reading.many(ids, projection=MATCH_FIELDS)
        return {
            id: () if isinstance(record, NotFound) else tuple(record.tags)
            for id, record in zip(ids, records, strict=True)
        }


@dataclass(frozen=True, slots=True)
class TagCounter(Generic[R]):
    """Counts the tags of the matches of a search that the caller may make."""

    listing: Listing[R]

    async def count_keys(self, listed: ListRequest) -> CountedTags[R]:
        """Count the tag keys of the matches: the search by tags, each match with its tags."""
        return await self._count(listed, _KeyPlaces())

    async def count_values(
        self, listed: ListRequest, key: str, parent: str | None
    ) -> CountedTags[R]:
        """Count the values of a key, at the top level or at the level below `parent`."""
        check_lengths(key, parent)
        above = () if parent is None else value_levels(parent)
        return await self._count(listed, _ValuePlaces(comparison_form(key), above))

    async def _count(
        self, listed: ListRequest, places: "_KeyPlaces | _ValuePlaces"
    ) -> CountedTags[R]:
        totals: dict[str, _Total] = {}
        met = 0

        def tally(id: str, tags: Mapping[str, str]) -> None:
            nonlocal met
            met += 1
            for place, is_deeper in places.of(tags):
                total = totals.get(place)
                if total is None:
                    total = totals[place] = _Total(id)
                total.add(id, is_deeper=is_deeper)

        is_complete = await self.listing.visit_tags(listed, tally)
        return CountedTags(self.listing.reading, is_complete, totals, met)


@dataclass(frozen=True, slots=True)
class _KeyPlaces:
    """The positions, in the list of keys, of a tag set; none of them has a level below it."""

    def of(self, tags: Iterable[str]) -> Iterator[tuple[str, bool]]:
        return ((escape(key), False) for key in tags)


@dataclass(frozen=True, slots=True)
class _ValuePlaces:
    """The position of a tag set in the list of the values of a key below a value."""

    key: str
    above: tuple[str, ...] = field(default=())

    def of(self, tags: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
        value = tags.get(self.key)
        if value is None:
            return
        levels, depth = split_levels(value), len(self.above)
        if len(levels) > depth and levels[:depth] == self.above:
            yield join_levels(levels[: depth + 1]), len(levels) > depth + 1


def _key_label(key: str, tags: Iterable[Tag]) -> str:
    return next((tag.key for tag in tags if comparison_form(tag.key) == key), key)


def _level_label(key: str, levels: tuple[str, ...], tags: Iterable[Tag]) -> str:
    depth = len(levels)
    for tag in tags:
        if comparison_form(tag.key) == key and value_levels(tag.value)[:depth] == levels:
            return level_names(tag.value)[depth - 1]
    return levels[-1]
