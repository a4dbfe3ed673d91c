"""Favourites: a date in a thing's annotation, and a row that lists the thing by this date."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.listening.annotations import (
    NOUN,
    AnnotatedThing,
    Annotations,
    ThingKey,
    list_latest,
)
from penstock.datastore.listening.records import Favourite, Kind
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
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
from penstock.datastore.text import unescape

FAVOURITE_AT = "favouriteAt"


@dataclass(frozen=True, slots=True)
class Favourites:
    """The caller's favourite tracks, playlists, albums and artists."""

    access: Access

    async def mark(self, thing: ThingKey) -> AnnotatedThing:
        """Make a thing a favourite; one that already is keeps its date."""
        annotations = Annotations(self.access)

        async def attempt() -> AnnotatedThing:
            current = await annotations.one(thing)
            marked = await annotations.require_thing(thing)
            if current.favourite_at is not None:
                return marked, current
            at = self.access.clock.timestamp()
            noted = Update(
                key=annotations.key(thing), set={FAVOURITE_AT: at}, condition=Missing(FAVOURITE_AT)
            )
            listed = Write(Put(self._item(thing, at)))
            checks = annotations.thing_checks(thing)
            await commit(self.access.table, [Write(noted), listed, *checks])
            return marked, await annotations.one(thing)

        return await retry_on_conflict(NOUN, attempt)

    async def unmark(self, thing: ThingKey) -> AnnotatedThing:
        """Remove a thing from the favourites."""
        annotations = Annotations(self.access)

        async def attempt() -> AnnotatedThing:
            # In this order: a thing that is there now was there when it was no favourite.
            current = await annotations.one(thing)
            unmarked = await annotations.require_thing(thing)
            if current.favourite_at is None:
                return unmarked, current
            forgotten = Update(
                key=annotations.key(thing),
                remove=(FAVOURITE_AT,),
                condition=Compare(FAVOURITE_AT, "=", current.favourite_at),
            )
            unlisted = Write(Delete(self._key(thing, current.favourite_at)))
            checks = annotations.thing_checks(thing)
            await commit(self.access.table, [Write(forgotten), unlisted, *checks])
            return unmarked, await annotations.one(thing)

        return await retry_on_conflict(NOUN, attempt)

    async def page(self, kind: Kind, window: Window) -> Slice[Favourite]:
        """List favourites of a kind, latest first: `sk` begins with `FV:<kind>:`."""
        prefix = FAVOURITE.sk.prefix({"kind": kind})
        return await list_latest(self.access, prefix, window, _read_favourite)

    def _key(self, thing: ThingKey, at: str) -> Key:
        return favourite_key(self.access.caller.user_id, thing, at)

    def _item(self, thing: ThingKey, at: str) -> Item:
        return {**self._key(thing, at)._asdict()}


def favourite_key(user: str, thing: ThingKey, at: str) -> Key:
    """The key of the row that lists a favourite by its date."""
    kind, id = thing
    return FAVOURITE.key(user=user, kind=kind, at=at, id=id)


def _read_favourite(item: Attributes) -> Favourite:
    found = FAVOURITE.sk.parse(str(item["sk"]))
    return Favourite(kind=Kind(found["kind"]), id=unescape(found["id"]), at=unescape(found["at"]))
