"""The rows that writes and deletes in steps have still to write: until then they may differ."""

from collections.abc import Iterable

from penstock.datastore.resources.delete import keys_of_remaining_deletes
from penstock.datastore.resources.writing.steps import keys_of_remaining_steps
from penstock.datastore.table.layout import KIND_OF_LETTER, UNFINISHED
from penstock.datastore.table.port import Attributes, Key, key_of
from penstock.datastore.table.tombstones import is_alive


def keys_under_way(item: Attributes) -> Iterable[Key]:
    """The keys that the marker of an unfinished write, or a tombstone, has left; else none."""
    key = key_of(item)
    kind = KIND_OF_LETTER.get(key.pk.partition(":")[0])
    if kind is None:
        return ()
    if UNFINISHED.holds(key):
        return keys_of_remaining_steps(kind.letter, item)
    is_tombstone = key.sk == kind.latest.sk.text and not is_alive(item)
    return keys_of_remaining_deletes(kind, item) if is_tombstone else ()
