"""What the tags of one thing occupy in one group: rows that cover, and counters."""

from collections.abc import Iterable, Iterator

from penstock.datastore import tags
from penstock.datastore.layout import TAG, TAG_KEY_COUNT, TAG_VALUE_COUNT
from penstock.datastore.records import Tag
from penstock.datastore.resources import counts
from penstock.datastore.table import INDEX_HASH, Item, Key, key_of
from penstock.datastore.text import comparison_form


def tag_rows(kind: str, group: str, id: str, tagged: Iterable[Tag]) -> dict[Key, Item]:
    """The rows that find the thing by each level of each of its tags, without its tag set."""
    rows = [
        TAG.item(group=group, key=level.key, value=level.value, kind=kind, id=id)
        for tag in tagged
        for level in tags.levels_of(tag)
    ]
    return {key_of(row): row for row in rows}


def tag_counters(kind: str, group: str, tagged: Iterable[Tag]) -> Iterator[counts.Counter]:
    """What the thing adds to the counts of keys and values."""
    for tag in tagged:
        row = TAG_KEY_COUNT.item(group=group, key=comparison_form(tag.key), kind=kind)
        labels = {"label": tag.key.strip(), INDEX_HASH: row[INDEX_HASH]}
        yield counts.Counter(key_of(row), {"count": 1}, labels)
        for level in tags.levels_of(tag):
            key = TAG_VALUE_COUNT.key(
                group=group, key=level.key, kind=kind, depth=len(level.value), value=level.value
            )
            amounts = {"count": 1} if level.last else {"count": 1, "deeper": 1}
            yield counts.Counter(key, amounts, {"label": level.label})
