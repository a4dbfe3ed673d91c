"""Key text can be parsed again, and no two keys have the same text."""

import re
from collections.abc import Mapping
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.table.keys import KeyPart, Template, join_levels, split_levels
from penstock.datastore.table.layout import (
    ALBUM,
    ARTIST,
    ATTRIBUTE,
    AUDIO,
    AUDIO_BY_ALBUM,
    AUDIO_BY_ARTIST,
    AUDIO_BY_BUCKET,
    AUDIO_BY_GENRE,
    AUDIO_WORD,
    CHANGE,
    CONNECTION,
    DESTINATION,
    ENTITY,
    EXECUTION_DUE,
    EXECUTION_ENDED,
    EXECUTION_EVENT,
    EXECUTION_LISTED,
    FAVOURITE,
    GENRE,
    GRANT,
    GROUP,
    GROUP_COUNT,
    HISTORY,
    HOUR_GENERATION,
    IMPORT_FAILURE,
    INGEST_COUNT,
    JOB_AT_GROUP,
    JOB_OF_GROUP,
    JOB_OF_USER,
    KEPT,
    KEPT_HOURS,
    KEPT_MINUTES,
    KEPT_NUMBERS,
    KEPT_OF_USER,
    LISTED,
    NAME_WORD,
    OPEN_UPLOAD,
    OWNED,
    PIPELINE,
    PLAY,
    PLAYLIST_ENTRY,
    PLAYLIST_MEMBER,
    ROWS,
    ROWS_MERGED,
    ROWS_PART,
    RUN_EVENT,
    RUN_LISTED,
    SERVICE,
    SERVICE_PATH,
    SHARED_PIPELINE,
    TAG,
    TAG_VALUE_COUNT,
    TOMBSTONE,
    WORK_DEBT,
    WORKER,
    Row,
)
from penstock.datastore.text import escape, unescape

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    st.sampled_from("ab:#%/\x00\x1f\x85é"), max_size=6
)
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="%:#"))
LEVELS = st.lists(TEXTS, min_size=1, max_size=4).map(tuple)
NUMBERS = st.integers(1, 99)
_PARTS: dict[str, st.SearchStrategy[KeyPart]] = {
    **dict.fromkeys(("id", "name", "group", "parent", "key", "user", "run"), TEXTS),
    **dict.fromkeys(("service", "path", "table", "entity", "type", "attribute"), TEXTS),
    "kind": st.sampled_from(["P", "C", "PE"]),
    "value": LEVELS,
    **dict.fromkeys(("version", "depth", "year", "disc", "track"), NUMBERS),
    **dict.fromkeys(("audio", "artist", "title", "album", "genre", "artwork", "content"), TEXTS),
    **dict.fromkeys(("bucket", "hash", "connection", "password", "job", "archive"), TEXTS),
    "version": NUMBERS,
    "manifest": st.tuples(TEXTS, TEXTS),
    "list": st.sampled_from(["ALL", "NEW"]),
    **dict.fromkeys(
        ("version", "seq", "added", "shard", "revision", "step", "changed", "commit"), NUMBERS
    ),
    "depth": NUMBERS,
    **dict.fromkeys(("pipeline", "digest", "stage", "state", "owner"), TEXTS),
    **dict.fromkeys(("seq", "shard", "due", "ended"), NUMBERS),
    **dict.fromkeys(("day", "hour"), st.integers(0, 99_999)),
    **dict.fromkeys(("playlist", "rank", "entry", "at"), TEXTS),
    "holder": TEXTS,
    "top": TEXTS,
    "word": TEXTS,
    "place": NUMBERS,
    **dict.fromkeys(("of",), TEXTS),
}
_NAMED = re.compile(r"\{(\w+)")
FAMILIES = (*ROWS, LISTED, GRANT, OWNED)
QUERIED = {
    PIPELINE.version: "PV:",
    TAG: "T:",
    NAME_WORD: "NW:",
    TAG_VALUE_COUNT: "TA:{kind}:",
    GROUP: "G:",
    GROUP_COUNT: "GC:",
    KEPT: "QG:",
    KEPT_OF_USER: "QU:",
    AUDIO: "AU:",
    AUDIO_BY_ARTIST: "AUR:",
    AUDIO_BY_ALBUM: "AUL:",
    AUDIO_BY_GENRE: "AUG:",
    AUDIO_BY_BUCKET: "AUB:",
    AUDIO_WORD: "AUW:",
    ARTIST: "AR:",
    ALBUM: "AL:",
    GENRE: "AG:",
    CONNECTION: "CN:",
    IMPORT_FAILURE: "IJ:",
    EXECUTION_EVENT: "PEH:",
    EXECUTION_LISTED: "EL:",
    ROWS_PART: "KR:",
    ROWS_MERGED: "KR:M:",
    CHANGE: "CL:",
    HISTORY: "AT:",
    WORKER: "WK:",
    WORK_DEBT: "WD:",
    JOB_OF_GROUP: "JL:",
    JOB_AT_GROUP: "JL:",
    JOB_OF_USER: "JL:",
    EXECUTION_ENDED: "EE:",
    SHARED_PIPELINE: "PS:",
    EXECUTION_DUE: "PED:",
    DESTINATION: "ND:",
    INGEST_COUNT: "NC:",
    HOUR_GENERATION: "NG:",
    KEPT_HOURS: "NH:",
    KEPT_MINUTES: "NHM:",
    KEPT_NUMBERS: "NHN:",
    SERVICE: "NS:",
    SERVICE_PATH: "NP:",
    ENTITY: "NE:",
    ATTRIBUTE: "NA:",
    RUN_EVENT: "RH:",
    RUN_LISTED: "RL:",
    PLAYLIST_MEMBER: "PL:",
    PLAYLIST_ENTRY: "PLI:",
    FAVOURITE: "FV:{kind}:",
    PLAY: "HI:",
    OPEN_UPLOAD: "FU:",
}
"""What is queried on the base table, and the fixed beginning of its prefixes."""

DIGITS_APART = {
    ("PV:{version.10}", "PV:latest"),
    ("KR:{commit.10}", "KR:M:{commit.10}"),  # read in one query
}


@cache
def values_of(*rows: Row) -> st.SearchStrategy[Mapping[str, KeyPart]]:
    """A value for each variable of the rows, and no more, because drawing values is slow."""
    shapes = [shape for row in rows for shape in (row.pk, row.sk, row.index) if shape]
    names = {name for shape in shapes for name in _NAMED.findall(shape.text)}
    names |= {"shard" for shape in shapes if "~" in shape.text}
    return st.fixed_dictionaries({name: _PARTS[name] for name in sorted(names)})


@given(TEXTS)
def test_unescape_gives_back_what_escape_was_given(text: str) -> None:
    assert unescape(escape(text)) == text


@given(TEXTS)
def test_escaped_text_holds_no_separator_and_no_control_character(text: str) -> None:
    assert not set(escape(text)) & {":", "#", *map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a:b#c%d", "a%3Ab%23c%25d"),
        ("%3A", "%253A"),
        ("\x00\x7f\x85", "%00%7F%C2%85"),
        ("a b/ö~+", "a b/ö~+"),
        ("", ""),
    ],
)
def test_only_percent_colon_hash_and_controls_are_encoded(text: str, written: str) -> None:
    assert escape(text) == written
    assert unescape(written) == text


@given(PLAIN, PLAIN)
def test_the_order_of_texts_without_reserved_characters_is_that_of_their_bytes(
    one: str, other: str
) -> None:
    assert (escape(one).encode() < escape(other).encode()) == (one.encode() < other.encode())
    assert (one < other) == (one.encode() < other.encode())


@given(LEVELS)
def test_split_gives_back_the_levels_that_were_joined(levels: tuple[str, ...]) -> None:
    assert split_levels(join_levels(levels)) == levels


@given(LEVELS, LEVELS)
def test_different_levels_never_join_to_one_segment(
    one: tuple[str, ...], other: tuple[str, ...]
) -> None:
    assert (join_levels(one) == join_levels(other)) == (one == other)


@pytest.mark.parametrize("row", FAMILIES, ids=lambda row: f"{row.pk.text} {row.sk.text}")
@settings(max_examples=25)
@given(data=st.data())
def test_reading_a_filled_key_gives_the_escaped_values(row: Row, data: st.DataObject) -> None:
    values = data.draw(values_of(row))
    for template in (row.pk, row.sk, row.index or row.pk):
        found = template.parse(template.fill(values))
        assert {name: _read(values[name], text) for name, text in found.items()} == {
            name: values[name] for name in found
        }


def _read(like: KeyPart, text: str) -> KeyPart:
    if isinstance(like, int):
        return int(text)
    return split_levels(text) if isinstance(like, tuple) else unescape(text)


@pytest.mark.parametrize("row", FAMILIES, ids=lambda row: f"{row.pk.text} {row.sk.text}")
@settings(max_examples=25)
@given(data=st.data())
def test_two_value_tuples_never_give_one_key(row: Row, data: st.DataObject) -> None:
    one, other = data.draw(values_of(row)), data.draw(values_of(row))
    used = {*row.pk.parse(row.pk.fill(one)), *row.sk.parse(row.sk.fill(one))}
    same = all(one[name] == other[name] for name in used)
    assert (row.key(**one) == row.key(**other)) == same


@settings(max_examples=50)
@given(values_of(*FAMILIES), values_of(*FAMILIES))
def test_rows_of_two_families_never_share_a_key(
    one: Mapping[str, KeyPart], other: Mapping[str, KeyPart]
) -> None:
    keys = [row.key(**values) for row in FAMILIES for values in ({**one, "kind": "P"},)]
    others = [row.key(**{**other, "kind": "P"}) for row in FAMILIES]
    for n, key in enumerate(keys):
        assert key not in [*others[:n], *others[n + 1 :]]


def test_no_leader_of_a_partition_begins_another_one() -> None:
    leaders = {row.pk.leader for row in ROWS} | {TOMBSTONE.leader, "C", "D", "PE", "U", "PL"}
    for one in leaders:
        assert [other for other in leaders if other.startswith(f"{one}:")] == []


def test_no_prefix_that_is_queried_begins_rows_of_another_family_in_the_partition() -> None:
    met = {
        (row.sk.text, other.sk.text)
        for row, prefix in QUERIED.items()
        for other in FAMILIES
        if row is not other and _partition(row) == _partition(other)
        if other.sk.text.startswith(prefix)
    }
    assert met == DIGITS_APART


def _partition(row: Row) -> str:
    return row.pk.text.replace("{kind}", "P")


def test_a_query_between_the_digits_does_not_meet_the_latest_version() -> None:
    assert not (
        PIPELINE.version.sk.fill({"version": 1})
        <= PIPELINE.latest.sk.fill({})
        <= PIPELINE.version.sk.fill({"version": 9_999_999_999})
    )


def test_a_prefix_is_cut_behind_a_separator_so_that_usa_never_meets_usa2() -> None:
    shape = Template("T:{group}:{key}")
    prefix = shape.prefix({"group": "/usa"})
    assert prefix == "T:/usa:"
    assert shape.fill({"group": "/usa", "key": "a"}).startswith(prefix)
    assert not shape.fill({"group": "/usa2", "key": "a"}).startswith(prefix)
    assert not shape.fill({"group": "/usa:a", "key": "a"}).startswith(prefix)


def test_a_prefix_of_a_tag_value_does_not_meet_values_that_go_on() -> None:
    prefix = TAG.sk.prefix({"value": ("a",), "kind": "P"})
    assert prefix == "T:a:P:"
    assert not TAG.sk.fill({"value": ("a", "b"), "kind": "P", "id": "1"}).startswith(prefix)
    assert not TAG.sk.fill({"value": ("ab",), "kind": "P", "id": "1"}).startswith(prefix)


def test_a_prefix_without_a_variable_left_is_refused() -> None:
    with pytest.raises(ValueError, match="no variable left"):
        Template("PV:latest").prefix({})


def test_numbers_are_padded_so_that_their_text_order_is_their_own() -> None:
    texts = [PIPELINE.version.sk.fill({"version": n}) for n in (1, 9, 10, 99, 100)]
    assert texts[0] == "PV:0000000001"
    assert texts == sorted(texts)


@pytest.mark.parametrize("text", ["T:a", "T:a:b:c", "TA:a:b", ""])
def test_a_key_of_another_shape_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"shape|shorter|longer"):
        Template("T:{group}:{key}").parse(text)


def test_a_missing_value_is_told() -> None:
    with pytest.raises(KeyError, match="key"):
        Template("T:{group}:{key}").fill({"group": "/"})
