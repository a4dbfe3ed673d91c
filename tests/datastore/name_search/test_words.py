"""Folded texts, words of names, and the rows by which a search finds every name that matches."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.datastore.audio.names import artists_of, genres_of, title_words
from penstock.datastore.audio.records import Tags
from penstock.datastore.errors import Invalid
from penstock.datastore.name_search.word_rows import ids_beyond, word_rows
from penstock.datastore.name_search.words import (
    CARRIED_CHARACTERS,
    MAX_WORDS,
    WORD_CHARACTERS,
    NameFilter,
    name_words,
    search_form,
)
from penstock.datastore.table.layout import NAME_WORD

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(
    st.sampled_from("abß ÄäéĿİıΣς가힣ﬁ½㎡-_\u0301\u0345\u3099"), max_size=12
)
NAMES = TEXTS | st.lists(
    st.sampled_from(["a", "ab", "ABC", "b", "é", "x_y", "ß"]), max_size=12
).map(" ".join)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("  Daily \t Sales ", "daily sales"),
        ("Ünïté", "unite"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("İstanbul", "istanbul"),
        ("ﬁle ½", "file 1⁄2"),
        ("\u0301", ""),
    ],
)
def test_a_form_has_no_case_no_accents_and_single_spaces(text: str, form: str) -> None:
    assert search_form(text) == form


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("daily_sales-report.v2", ("daily", "sales", "report", "v2")),
        ("to be or not to be", ("to", "be", "or", "not")),
        ("1 2 3 4 5 6 7 8 9", tuple("12345678")),
        ("--", ()),
        ("日本 語", ("日本", "語")),
        ("x" * 100, ("x" * WORD_CHARACTERS,)),
    ],
)
def test_a_word_is_a_run_of_letters_and_digits(name: str, words: tuple[str, ...]) -> None:
    assert name_words(search_form(name)) == words


@given(TEXTS)
@example("\u0345\u0301")
def test_folding_twice_changes_nothing(text: str) -> None:
    form = search_form(text)
    assert search_form(form) == form
    assert not any(map(unicodedata.combining, form))
    assert search_form(text.upper().lower()) == search_form(text.upper())


@given(TEXTS, TEXTS)
def test_the_form_of_a_beginning_begins_the_form(text: str, rest: str) -> None:
    assert search_form(text + rest).startswith(search_form(text))


@given(NAMES, NAMES)
@example("a b a b a b a b a b cat", "a b a b a b a b a b c")
def test_rows_of_words_find_every_name_that_begins_so(name: str, rest: str) -> None:
    for text in (name, name + rest):
        try:
            term = NameFilter(starts_with=name[:128]).term()
        except Invalid:
            return
        form = search_form(text)
        assert term.matches(form)
        held = [key.sk for key in word_rows(NAME_WORD, form, name_words(form), **PLACE)]
        for word in term.words:
            assert any(sk.startswith(f"NW:{word}") for sk in held)


PLACE = {"group": "/usa", "kind": "P", "id": "1"}


@given(NAMES, NAMES)
def test_a_name_contains_exactly_what_begins_its_words(name: str, text: str) -> None:
    try:
        term = NameFilter(contains=text[:128]).term()
    except Invalid:
        return
    form = search_form(name)
    held = name_words(form)
    expected = all(any(word.startswith(one) for word in held) for one in term.words)
    assert term.matches(form) == expected
    rows = word_rows(NAME_WORD, form, held, **PLACE)
    assert len(rows) == len(held) <= MAX_WORDS
    if expected:
        for word in term.words:
            assert any(key.sk.startswith(f"NW:{word}") for key in rows)


@given(NAMES)
def test_a_row_carries_the_whole_form_or_none(name: str) -> None:
    form = search_form(name * 20)
    for item in word_rows(NAME_WORD, form, name_words(form), **PLACE).values():
        assert item.get("name") == (form if len(form) <= CARRIED_CHARACTERS else None)
        assert len(str(item["sk"]).encode()) <= 1024


@given(st.sets(st.sampled_from("abcdef")), st.none() | st.sampled_from("abcdef"), st.booleans())
def test_ids_behind_a_position_lie_in_the_order_of_reading(
    ids: set[str], after: str | None, descending: bool
) -> None:
    found = ids_beyond(sorted(ids), after, descending=descending)
    assert found == sorted(found, reverse=descending)
    ahead = {id for id in ids if after is None or (id < after if descending else id > after)}
    assert set(found) == ahead


@pytest.mark.parametrize(("artists", "genres", "words"), [(1, 0, 8), (13, 6, 8), (16, 6, 2)])
def test_a_title_of_many_artists_has_fewer_words(artists: int, genres: int, words: int) -> None:
    tags = Tags(
        title="1 2 3 4 5 6 7 8 9",
        artists=tuple(f"artist {n}" for n in range(artists)),
        genres=tuple(f"genre {n}" for n in range(genres)),
    )
    assert (len(artists_of(tags)), len(genres_of(tags))) == (artists, genres)
    assert len(title_words(tags)) == words
