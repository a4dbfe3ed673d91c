"""The search for tracks of the caller by a part of the title."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import title_words
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import audio_key, audio_of
from penstock.datastore.name_search.word_rows import WordList, find_candidates, ids_beyond
from penstock.datastore.name_search.words import NameTerm, compared_rows, search_form
from penstock.datastore.table.items import Projection, read_all, read_rows
from penstock.datastore.table.layout import AUDIO_WORD
from penstock.datastore.table.pages import Slice, Window, make_slice

TITLE_FIELDS: Projection = frozenset(
    ("id", "title", "artists", "album_artist", "compilation", "genres")
)
"""The id of a track, and the fields that decide by which words its title is found."""


@dataclass(frozen=True, slots=True)
class TitleSearch:
    """A search for one part of titles; tracks are read with at least the projected fields."""

    access: Access
    term: NameTerm
    projection: Projection

    async def find_ids(self) -> list[str] | None:
        """Find the tracks whose titles may match; None where all words of the term are common."""
        place = {"user": self.access.caller.user_id}
        most = self.access.budget.candidates
        words = WordList(self.access.table, AUDIO_WORD, place, self.access.owe_matching)
        return await find_candidates(words, self.term, most)

    async def read_ids(self, ids: Sequence[str], descending: bool, window: Window) -> Slice[str]:
        """One page of the ids that were found."""
        rest = ids_beyond(ids, window.after_id, descending=descending)
        return make_slice(rest, window, str, more=False)

    async def load_tracks(self, ids: Sequence[str]) -> list[Audio | None]:
        """Get tracks by id; None for those that are gone or have another title by now."""
        keys = [audio_key(self.access.caller.user_id, id) for id in ids]
        rows = await read_rows(self.access.table, keys, consistent=True)
        read = partial(audio_of, projection=self.projection)
        found = {track.id: track for track in read_all(read, rows.values())}
        return [self._keep(found[id]) if id in found else None for id in ids]

    async def keep_matches(self, tracks: Sequence[Audio]) -> list[Audio | None]:
        """The tracks of a part of the whole list that match, and None for the others."""
        self.access.owe_matching(sum(compared_rows(track.title) for track in tracks))
        return [self._keep(track) for track in tracks]

    def _keep(self, track: Audio) -> Audio | None:
        matches = self.term.matches(search_form(track.title), lambda: title_words(track))
        return track if matches else None
