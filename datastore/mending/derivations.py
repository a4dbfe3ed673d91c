"""The rows that others are made of, and what is made of each: lists, claims of names, and counts.

A source is the latest row of a resource, an execution or a track. Every write of a source writes
its derived rows in the same transaction and raises its revision.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from penstock.datastore.audio.derived_rows import object_claim, track_rows
from penstock.datastore.audio.tracks import audio_of
from penstock.datastore.executions.create import KIND as EXECUTION_LETTER
from penstock.datastore.executions.create import tag_items
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.rows import execution_of
from penstock.datastore.executions.rows import kept_counter as execution_counter
from penstock.datastore.quotas.usage import kept_counter
from penstock.datastore.resources.derived_rows import derive_rows, tag_counters
from penstock.datastore.table.counters import Counter
from penstock.datastore.table.items import load, resource_id
from penstock.datastore.table.keys import Template
from penstock.datastore.table.layout import (
    ALBUM,
    ARTIST,
    AUDIO,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_BUCKET,
    AUDIO_BY_GENRE,
    AUDIO_MISSING,
    AUDIO_WORD,
    EXECUTION,
    EXECUTION_ENDED,
    EXECUTION_LISTED,
    GENRE,
    GRANT,
    KIND_OF_LETTER,
    LIBRARY,
    LISTED,
    NAME,
    NAME_WORD,
    OWNED,
    PIPELINE,
    ROWS_LIMIT,
    SHARED_PIPELINE,
    TAG,
    USED_BY,
    KindDefinition,
    Row,
)
from penstock.datastore.table.port import INDEX_HASH, Attributes, Item, Key, key_of
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import unescape

REVISIONS: Final = ("revision", "version")
"""The attribute that each write of a source raises; a track has only a version."""

_TRACK_LISTS: Final[Mapping[str, Template]] = {
    row.sk.leader: row.sk
    for row in (
        AUDIO_BY_ARTIST,
        AUDIO_BY_ALBUM,
        AUDIO_BY_GENRE,
        AUDIO_WORD,
        AUDIO_MISSING,
        AUDIO_BY_BUCKET,
    )
}
_TRACK_COUNTS: Final = frozenset(row.sk.leader for row in (LIBRARY, ARTIST, ALBUM, GENRE))
_NAMING_AT_END: Final[Mapping[str, Row]] = {
    EXECUTION_LISTED.pk.leader: EXECUTION,
    EXECUTION_ENDED.pk.leader: EXECUTION,
    SHARED_PIPELINE.pk.leader: PIPELINE.latest,
}
"""The rows of the sources that other rows name at the end of their sort keys, by their leaders."""
_LISTS: Final = frozenset(row.sk.leader for row in (LISTED, ROWS_LIMIT, GRANT, OWNED, USED_BY))


class Derivation(NamedTuple):
    """The rows that are made of one source, and the amounts that it adds to counts."""

    rows: Iterable[Item] = ()
    counters: Iterable[Counter] = ()


NOTHING: Final = Derivation()


def derive(item: Attributes) -> Derivation:
    """Derive from a row what is made of it; nothing of a row that is no source."""
    key = key_of(item)
    leader = key.pk.partition(":")[0]
    kind = KIND_OF_LETTER.get(leader)
    if kind is not None:
        at_latest = key.sk == kind.latest.sk.text and is_alive(item)
        return _derive_from_resource(kind, item) if at_latest else NOTHING
    if leader == EXECUTION.pk.leader and key.sk == EXECUTION.sk.text:
        execution = execution_of(item)
        counters = tag_counters(
            EXECUTION_LETTER, execution.pipeline_id, execution.id, execution.tags, execution.shard
        )
        kept = execution_counter(execution)
        counted = [*counters, *([] if kept is None else [kept])]
        rows = (*tag_items(execution).values(), *list_items(execution).values())
        return Derivation(rows, counted)
    if leader == AUDIO.pk.leader and key.sk.startswith(f"{AUDIO.sk.leader}:"):
        track = audio_of(item)
        derived = track_rows(track)
        return Derivation((*derived.items.values(), object_claim(track)), derived.counters.values())
    return NOTHING


def _derive_from_resource(kind: KindDefinition[Any], item: Attributes) -> Derivation:
    resource = load(kind.record, item, id=resource_id(item))
    derived, kept = derive_rows(kind.letter, resource), kept_counter(resource)
    # The row of an earlier release is in the index itself.
    listed = () if INDEX_HASH in item else derived.listed.values()
    holdings = derived.holdings()
    claims = [
        {**key._asdict(), "id": derived.id} for key, held in holdings.items() if not held.below
    ]
    markers = [Counter(key, {"below": held.below}) for key, held in holdings.items() if held.below]
    counters = (*derived.counters.values(), *markers, *([] if kept is None else [kept]))
    return Derivation(
        (
            *listed,
            *derived.shared.values(),
            *derived.items.values(),
            *derived.words.values(),
            *derived.uses.values(),
            *claims,
        ),
        counters,
    )


def is_derived(item: Attributes) -> bool:
    """Whether a row is one that is made of a source."""
    key = key_of(item)
    leader, sort_leader = key.pk.partition(":")[0], key.sk.partition(":")[0]
    if leader in (TAG.pk.leader, NAME_WORD.pk.leader) or leader in _NAMING_AT_END:
        return True
    if leader == NAME.pk.leader:
        return "id" in item
    if leader in KIND_OF_LETTER:
        return sort_leader in _LISTS
    return leader == AUDIO.pk.leader and sort_leader in _TRACK_LISTS


def is_own_count(key: Key) -> bool:
    """Whether a key is that of a marker of names or of a library's count.

    Those of groups, quotas, tags, executions and runs are added up by `Recount`.
    """
    leader, sort_leader = key.pk.partition(":")[0], key.sk.partition(":")[0]
    if leader == NAME.pk.leader:
        return True
    return leader == LIBRARY.pk.leader and sort_leader in _TRACK_COUNTS


def source_of(item: Attributes) -> Key:
    """The key of the source that a derived row names."""
    key = key_of(item)
    leader, sort_leader = key.pk.partition(":")[0], key.sk.partition(":")[0]
    if leader in _NAMING_AT_END:
        return _NAMING_AT_END[leader].key(id=key.sk.rpartition(":")[2])
    for row in (TAG, NAME_WORD):
        if leader == row.pk.leader:
            return _source_of_posting({**row.pk.parse(key.pk), **row.sk.parse(key.sk)})
    if leader == NAME.pk.leader:
        return KIND_OF_LETTER[NAME.pk.parse(key.pk)["kind"]].latest.key(id=str(item["id"]))
    if sort_leader == USED_BY.sk.leader:
        user = USED_BY.sk.parse(key.sk)
        return KIND_OF_LETTER[user["by_kind"]].latest.key(id=user["by"])
    if leader in KIND_OF_LETTER:
        return KIND_OF_LETTER[leader].latest.key(id=resource_id(item))
    listener = unescape(AUDIO.pk.parse(key.pk)["user"])
    track = item.get("audioId") or _TRACK_LISTS[sort_leader].parse(key.sk)["audio"]
    return AUDIO.key(user=listener, audio=str(track))


def _source_of_posting(parts: Mapping[str, str]) -> Key:
    """The key of the resource or execution that a posting names, by its kind and its id."""
    if parts["kind"] == EXECUTION_LETTER:
        return EXECUTION.key(id=parts["id"])
    return KIND_OF_LETTER[parts["kind"]].latest.key(id=parts["id"])
