"""Favourites: a date in a thing's annotation, and a row that lists the thing by this date."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.listening.annotations import Annotations, Kept, Thing, latest_first
from penstock.datastore.listening.records import Annotation, Favourite, Kind
from penstock.datastore.playlists.header import until_settled
from penstock.datastore.table.layout import FAVOURITE
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    Delete,
    Item,
    Key,
    Missing,
    Put,
    Update,
)
from penstock.datastore.table.transaction import Write, commit
from penstock.datastore.text import unescape

FAVOURITE_AT = "favouriteAt"


@dataclass(frozen=True, slots=True)
class Favourites:
    """The caller's favourite tracks and playlists."""

    access: Access

    async def mark(self, thing: Thing) -> Kept:
        """Make a thing a favourite; one that already is keeps its date."""
        annotations = Annotations(self.access)
        marked = await annotations.require(thing)

        async def attempt() -> Annotation:
            current = await annotations.one(thing)
            if current.favourite_at is not None:
                return current
            at = self.access.clock.timestamp()
            noted = Update(
                key=annotations.key(thing), set={FAVOURITE_AT: at}, condition=Missing(FAVOURITE_AT)
            )
            await commit(self.access.table, [Write(noted), Write(Put(self._item(thing, at)))])
            return await annotations.one(thing)

        return marked, await until_settled(attempt)

    async def unmark(self, thing: Thing) -> Kept:
        """Remove a thing from the favourites."""
        annotations = Annotations(self.access)
        unmarked = await annotations.require(thing)

        async def attempt() -> Annotation:
            current = await annotations.one(thing)
            if current.favourite_at is None:
                return current
            forgotten = Update(
                key=annotations.key(thing),
                remove=(FAVOURITE_AT,),
                condition=Compare(FAVOURITE_AT, "=", current.favourite_at),
            )
            key = self._key(thing, current.favourite_at)
            await commit(self.access.table, [Write(forgotten), Write(Delete(key))])
            return await annotations.one(thing)

        return unmarked, await until_settled(attempt)

    async def page(self, kind: Kind, window: Window) -> Slice[Favourite]:
        """List favourites of a kind, latest first: `sk` begins with `FV:<kind>:`."""
        prefix = FAVOURITE.sk.prefix({"kind": kind})
        found = await latest_first(self.access, prefix, window)
        return found.map([_favourite(item) for _, item in found.entries])

    def _key(self, thing: Thing, at: str) -> Key:
        kind, id = thing
        return FAVOURITE.key(user=self.access.caller.user_id, kind=kind, at=at, id=id)

    def _item(self, thing: Thing, at: str) -> Item:
        return {**self._key(thing, at)._asdict()}


def _favourite(item: Attributes) -> Favourite:
    found = FAVOURITE.sk.read(str(item["sk"]))
    return Favourite(kind=Kind(found["kind"]), id=found["id"], at=unescape(found["at"]))
