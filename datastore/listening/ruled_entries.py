"""The entries of smart playlists, which are chosen by their rule each time that they are read."""

from asyncio import sleep
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.audio.browsing import walk_rows
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.title_search import TitleSearch
from penstock.datastore.audio.tracks import TrackReader, audio_of, link_of
from penstock.datastore.listening.annotations import Annotations, annotation_of
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.listening.rule_matching import FilterMatcher, TrackForms
from penstock.datastore.listening.rule_orders import choose_rank, needs_annotations, order_name
from penstock.datastore.playlists.add_entries import entry_for
from penstock.datastore.playlists.change_target import total_duration
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rules import PlaylistRule, TrackOrder
from penstock.datastore.table.layout import (
    ANNOTATION,
    AUDIO,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_GENRE,
    Row,
)
from penstock.datastore.table.pages import Slice, Window, parts_of, slice_sorted

N = TypeVar("N")

NAMES_OF_A_ROW: Final = 2
"""Names of tracks that are compared for the price of a row that is."""

COMPARED_AT_ONCE: Final = 10_000
"""Characters that are compared before others have their turn: a millisecond of the worst."""

AT_ONCE: Final = 100
"""The tracks that are read by their ids at once."""

FEW: Final = 100
"""The tracks that are read by their ids, however small the library is."""

SHARE: Final = 10
"""Up to one of so many tracks is read by its id, for a unit each; in a list many share a unit."""

AnnotatedTrack: TypeAlias = tuple[Audio, Annotation]


class _Candidate(NamedTuple):
    """A track that may match, with its annotation if that was read."""

    id: str
    note: Annotation | None = None


class RuledRequest(NamedTuple):
    """The entries of a smart playlist that are wanted; in the order RANDOM that of this name."""

    playlist: Playlist
    drawn: str | None = None

    @classmethod
    def behind(cls, playlist: Playlist, after: str | None) -> "RuledRequest":
        """The entries of which those behind a position are wanted, which names its order."""
        rule = playlist.rule
        if after is None or rule is None or rule.order is not TrackOrder.RANDOM:
            return cls(playlist)
        return cls(playlist, after.partition(":")[0])


class ChosenEntries(NamedTuple):
    """All entries of a smart playlist in order."""

    entries: tuple[Entry, ...]

    @property
    def duration_ms(self) -> int:
        return total_duration(self.entries)

    def page(self, window: Window) -> Slice[Entry]:
        return slice_sorted(self.entries, window, lambda entry: entry.position)


@dataclass(frozen=True, slots=True)
class RuledEntries:
    """The entries of the caller's smart playlists.

    Of each track that is read only the entries that may be among the first of the order are kept.
    """

    access: Access

    async def many(self, wanted: Sequence[RuledRequest]) -> list[ChosenEntries]:
        """Choose the entries of smart playlists, one playlist after another; aligned."""
        return [await self.choose(request) for request in wanted]

    async def choose(self, request: RuledRequest) -> ChosenEntries:
        """Choose the entries of a smart playlist.

        `sk` begins with `AUR:<artist>:`, `AUL:<title>:` or `AUG:<genre>:`, or with `AN:AU:` where
        only annotated tracks match, or with `AUW:<word>`; then BatchGets of the tracks and their
        annotations. Otherwise, and where these are more than a tenth of the library, all `AU:` and,
        where they matter, all `AN:AU:`, side by side.
        """
        playlist, rule = request.playlist, request.playlist.rule
        if rule is None:
            return ChosenEntries(())
        now = self.access.clock.now()
        matcher = FilterMatcher.of(rule.filter, now)
        rank = choose_rank(rule.order, request.drawn or order_name(playlist, rule, now))
        chosen = _FirstEntries(rule.limit)
        async for part in self._read_candidates(rule, matcher):
            named = sum(matcher.count_names(track) for track, _ in part)
            self.access.owe_matching(len(part) + named // NAMES_OF_A_ROW)
            async for track, note in _in_short_turns(part, matcher):
                if matcher.matches(TrackForms(track), note):
                    chosen.add(
                        entry_for(playlist.id, track.id, rank(track, note), track, track.created_at)
                    )
        return ChosenEntries(chosen.in_order())

    async def _read_candidates(
        self, rule: PlaylistRule, matcher: FilterMatcher
    ) -> AsyncIterator[Sequence[AnnotatedTrack]]:
        """Read all tracks that may match in parts, by the rows that are likely to be the fewest."""
        is_noted = matcher.needs_annotations or needs_annotations(rule.order)
        few = await self._find_few(matcher)
        if few is None:
            tracks = walk_rows(self.access, audio_of, AUDIO)
            async for part in parts_of(self._with_annotations(tracks, is_noted=is_noted), AT_ONCE):
                yield part
            return
        for start in range(0, len(few), AT_ONCE):
            candidates = few[start : start + AT_ONCE]
            found = await TrackReader(self.access).many([one.id for one in candidates])
            standing = [
                (track, one.note)
                for track, one in zip(found, candidates, strict=True)
                if isinstance(track, Audio)
            ]
            read = [
                (track, note)
                async for track, note in _in_short_turns(standing, matcher)
                if matcher.matches_tags(TrackForms(track))
            ]
            yield await self._annotate(read, is_noted=is_noted)

    async def _find_few(self, matcher: FilterMatcher) -> list[_Candidate] | None:
        """The tracks that may match; None where these are so many that all are read with less."""
        walk, found, most = await self._narrow(matcher), list[_Candidate](), FEW
        if walk is None:
            return None
        async for candidate in walk:
            found.append(candidate)
            if len(found) == FEW + 1:
                most = max(most, (await TrackReader(self.access).totals()).count // SHARE)
            if len(found) > most:
                return None
        return found

    async def _narrow(self, matcher: FilterMatcher) -> AsyncIterator[_Candidate] | None:
        """The tracks that may match, each once; None where these may be all."""
        for row, field, values in (
            (AUDIO_BY_ARTIST, "artist", matcher.artists),
            (AUDIO_BY_ALBUM, "title", matcher.albums),
            (AUDIO_BY_GENRE, "genre", matcher.genres),
        ):
            if values:
                return self._walk_listed(row, field, sorted(values))
        if matcher.finds_only_annotated:
            return self._walk_annotated(matcher)
        if matcher.title is not None:
            found = await TitleSearch(self.access, matcher.title, frozenset(("id",))).find_ids()
            return None if found is None else _walk_ids(found)
        return None

    async def _walk_listed(
        self, row: Row, field: str, values: Sequence[str]
    ) -> AsyncIterator[_Candidate]:
        met = set[str]()
        for value in values:
            async for link in walk_rows(self.access, link_of, row, **{field: value}):
                if link.audio_id not in met:
                    met.add(link.audio_id)
                    yield _Candidate(link.audio_id)

    async def _walk_annotated(self, matcher: FilterMatcher) -> AsyncIterator[_Candidate]:
        async for note in walk_rows(self.access, annotation_of, ANNOTATION, kind=Kind.AUDIO):
            if matcher.matches_annotation(note):
                yield _Candidate(note.id, note)

    async def _annotate(
        self, tracks: Sequence[tuple[Audio, Annotation | None]], *, is_noted: bool
    ) -> Sequence[AnnotatedTrack]:
        """Read the annotations that are not known, if they matter."""
        missing = [track.id for track, note in tracks if note is None] if is_noted else []
        kept = await Annotations(self.access).many([(Kind.AUDIO, id) for id in missing])
        known = dict(zip(missing, kept, strict=True))
        return [(track, note or known.get(track.id) or _plain(track)) for track, note in tracks]

    async def _with_annotations(
        self, tracks: AsyncIterator[Audio], *, is_noted: bool
    ) -> AsyncIterator[AnnotatedTrack]:
        """Put tracks and their annotations together; both are read in the order of the ids."""
        if not is_noted:
            async for track in tracks:
                yield track, _plain(track)
            return
        notes = walk_rows(self.access, annotation_of, ANNOTATION, kind=Kind.AUDIO)
        note = await anext(notes, None)
        async for track in tracks:
            while note is not None and note.id < track.id:
                note = await anext(notes, None)
            is_own = note is not None and note.id == track.id
            yield track, note if note is not None and is_own else _plain(track)


class _FirstEntries:
    """The first entries of an order, at most twice as many as are wanted at any time."""

    __slots__ = ("_entries", "_wanted")

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        self._entries.append(entry)
        if len(self._entries) >= 2 * self._wanted:
            self._entries = list(self.in_order())

    def in_order(self) -> tuple[Entry, ...]:
        """The entries that were added, as many as are wanted."""
        return tuple(sorted(self._entries, key=lambda entry: entry.position)[: self._wanted])


async def _in_short_turns(
    tracks: Iterable[tuple[Audio, N]], matcher: FilterMatcher
) -> AsyncIterator[tuple[Audio, N]]:
    """Yield tracks to compare, with other work in between where their texts are long."""
    measures, characters = matcher.measures(), 0
    for track, note in tracks:
        characters += sum([measure(track) for measure in measures])
        if characters > COMPARED_AT_ONCE:
            characters = 0
            await sleep(0)
        yield track, note


def _plain(track: Audio) -> Annotation:
    return Annotation(kind=Kind.AUDIO, id=track.id)


async def _walk_ids(ids: Iterable[str]) -> AsyncIterator[_Candidate]:
    for id in ids:
        yield _Candidate(id)
