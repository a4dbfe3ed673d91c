"""Reading the caller's tracks, and what they are listed under, by key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penstock.datastore.audio.records import Album, Artist, Audio, Totals
from penstock.datastore.audio.rows import album_of, artist_of, audio_key, audio_of
from penstock.datastore.clock import is_id
from penstock.datastore.errors import NotFound
from penstock.datastore.items import load
from penstock.datastore.layout import ALBUM, ARTIST, LIBRARY, Row
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.resources.scope import Scope, absent
from penstock.datastore.table import Attributes, Key

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading:
    """The reads of the caller's library by key: what is another's is simply absent there."""

    scope: Scope

    async def many(self, ids: Sequence[str], *, consistent: bool = False) -> list[Audio | NotFound]:
        """Get audio: `pk = U:<user>, sk = AU:<id>`, batched; one answer for each id, aligned."""
        keys = {id: audio_key(self._user, id) for id in ids if is_id(id)}
        rows = await read_rows(self.scope.table, keys.values(), consistent=consistent)
        items = [rows.get(keys[id]) if id in keys else None for id in ids]
        return [absent("audio") if item is None else audio_of(item) for item in items]

    async def get_audio_files_by_audio_id(self, id: str, *, consistent: bool = False) -> Audio:
        """getAudioFilesByAudioId: `Query(ID = :AudioId)`, here one item; raises NotFound."""
        (audio,) = await self.many([id], consistent=consistent)
        if isinstance(audio, NotFound):
            raise audio
        return audio

    async def artists(self, places: Sequence[str]) -> list[Artist | NotFound]:
        """Get artists: `pk = U:<user>, sk = AR:<place>`, batched; aligned with the places."""
        return await self._placed(ARTIST, places, artist_of, "artist")

    async def albums(self, places: Sequence[str]) -> list[Album | NotFound]:
        """Get albums: `pk = U:<user>, sk = AL:<place>`, batched; aligned with the places."""
        return await self._placed(ALBUM, places, album_of, "album")

    async def totals(self) -> Totals:
        """Get what the library holds: `pk = U:<user>, sk = U`."""
        key = LIBRARY.key(user=self._user)
        return load(Totals, (await self.scope.table.get([key])).items.get(key, {}))

    async def _placed(
        self, row: Row, places: Sequence[str], read: Callable[[Attributes], T], noun: str
    ) -> list[T | NotFound]:
        pk, prefix = row.pk.fill({"user": self._user}), row.sk.prefix({})
        keys = [Key(pk, prefix + place) for place in places]
        rows = await read_rows(self.scope.table, keys)
        return [read(rows[key]) if key in rows else absent(noun) for key in keys]

    @property
    def _user(self) -> str:
        return self.scope.caller.user_id
