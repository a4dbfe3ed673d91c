"""The rows that find things by words of their names, and the reading of those with some words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from penstock.datastore.name_search.words import NameTerm, carried_form, compared_rows
from penstock.datastore.table.items import read_in_turns
from penstock.datastore.table.keys import KeyPart
from penstock.datastore.table.layout import Row
from penstock.datastore.table.pages import Queryable
from penstock.datastore.table.port import Attributes, Item, Key, Page, Query, Range, key_of

_SCARCE: Final = 25
_LONGEST: Final = 10
"""Where fewer than one of _SCARCE rows of a word match, up to _LONGEST times as many are read."""


def word_rows(row: Row, form: str, words: Sequence[str], **place: KeyPart) -> dict[Key, Item]:
    """The rows of one thing in one list, one for each word, with its name in search form."""
    carried = name_attributes(form)
    items = [{**row.item(word=word, **place), **carried} for word in words]
    return {key_of(item): item for item in items}


def name_attributes(form: str) -> Item:
    """The attribute of a row that carries a name in search form; none if the name is too long."""
    carried = carried_form(form)
    return {"name": carried} if carried else {}


class WordList(NamedTuple):
    """The rows by words of one list; `note_rows` is told how many of them are compared."""

    table: Queryable
    row: Row
    place: Mapping[str, KeyPart]
    note_rows: Callable[[int], None]


async def find_candidates(words: WordList, term: NameTerm, limit: int) -> list[str] | None:
    """List the ids of all things in one list whose names may match, in the order of ids.

    None where the list itself is read sooner: each word of the term begins more than `limit` rows,
    and many of these match, or the word begins ten times as many; or the term has no word.

    Find by word: `pk = <partition of the list>`, `sk` begins with `<word>`.
    """
    partition, fixed = words.row.pk.fill(words.place), words.row.sk.prefix(words.place)
    read_id = _matching_id(term)
    common: list[tuple[Query, list[str]]] = []
    for word in term.longest_first:
        query = Query(partition=partition, range=Range(fixed + word), limit=limit)
        page = await words.table.query(query)
        found = await _read_ids(words, page, read_id)
        if page.last is None:
            return sorted(found)
        if len(found) * _SCARCE < limit:
            rest = replace(query, after=page.last, limit=(_LONGEST - 1) * limit)
            common.append((rest, found))
    for query, found in common:
        page = await words.table.query(query)
        more = await _read_ids(words, page, read_id)
        if page.last is None:
            return sorted({*found, *more})
    return None


class _WordMatch(NamedTuple):
    """The id of a row whose name may match, and the rows that its comparison counts as."""

    id: str | None
    rows: int


async def _read_ids(
    words: WordList, page: Page, read_id: Callable[[Attributes], _WordMatch]
) -> list[str]:
    found = await read_in_turns(read_id, page.items)
    words.note_rows(sum(one.rows for one in found))
    return list(dict.fromkeys(one.id for one in found if one.id is not None))


def _matching_id(term: NameTerm) -> Callable[[Attributes], _WordMatch]:
    def read(item: Attributes) -> _WordMatch:
        form = str(item.get("name") or "")
        matches = not form or term.matches(form)
        return _WordMatch(
            str(item["sk"]).rpartition(":")[2] if matches else None, compared_rows(form)
        )

    return read


def ids_beyond(ids: Sequence[str], after: str | None, *, descending: bool) -> list[str]:
    """The ids beyond a position, in one of both directions."""
    kept = [id for id in ids if after is None or (id < after if descending else id > after)]
    return sorted(kept, reverse=descending)
