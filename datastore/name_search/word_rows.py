"""The rows that find things by words of their names, and the reading of those with some words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from penstock.datastore.name_search.words import NameTerm, carried_form
from penstock.datastore.table.items import read_all
from penstock.datastore.table.keys import KeyPart
from penstock.datastore.table.layout import Row
from penstock.datastore.table.pages import Queryable
from penstock.datastore.table.port import Attributes, Item, Key, Query, Range, key_of

MOST_CANDIDATES: Final = 500
"""The most rows of one beginning of a word that a page reads; with more it reads the list."""

CANDIDATES_OF_LIST: Final = 5_000
"""The same for all groups of a page together."""


def word_rows(row: Row, form: str, words: Sequence[str], **place: KeyPart) -> dict[Key, Item]:
    """The rows of one thing in one list, one for each word, with its name in search form."""
    carried = name_attributes(form)
    items = [{**row.item(word=word, **place), **carried} for word in words]
    return {key_of(item): item for item in items}


def name_attributes(form: str) -> Item:
    """What rows carry of a name in search form."""
    carried = carried_form(form)
    return {"name": carried} if carried else {}


async def find_candidates(
    table: Queryable,
    row: Row,
    place: Mapping[str, KeyPart],
    term: NameTerm,
    limit: int,
) -> list[str] | None:
    """List the ids of all things in one list whose names may match, in the order of ids.

    None where each word of the term begins more than `limit` rows, or where it has no word.

    Find by word: `pk = <partition of the list>`, `sk` begins with `<word>`.
    """
    partition = row.pk.fill(place)
    for word in term.longest_first:
        prefix = row.sk.prefix({**place}) + word
        page = await table.query(Query(partition=partition, range=Range(prefix), limit=limit))
        if page.last is None:
            found = read_all(_matching_id(term), page.items)
            return sorted({id for id in found if id is not None})
    return None


def _matching_id(term: NameTerm) -> Callable[[Attributes], str | None]:
    def read(item: Attributes) -> str | None:
        form = item.get("name")
        if form is not None and not term.matches(str(form)):
            return None
        return str(item["sk"]).rpartition(":")[2]

    return read


def ids_beyond(ids: Sequence[str], after: str | None, *, descending: bool) -> list[str]:
    """The ids beyond a position, in one of both directions."""
    kept = [id for id in ids if after is None or (id < after if descending else id > after)]
    return sorted(kept, reverse=descending)
