"""Tags in comparison form, and the rules of their texts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import Invalid
from penstock.datastore.records import Tag
from penstock.datastore.tag_search.tags import (
    TagFilter,
    TagLevel,
    level_names,
    tag_levels,
    tag_map,
    tag_problems,
    value_levels,
)
from tests.support.sample_resources import tags


def test_a_value_has_one_level_for_each_slash_and_the_last_is_marked() -> None:
    (tag,) = tags("Material= Metal /Steel")
    assert tag_levels(tag) == (
        TagLevel("material", ("metal",), "Metal", last=False),
        TagLevel("material", ("metal", "steel"), "Steel", last=True),
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("Wood/OAK", ("wood", "oak")),
        (" wood / oak ", ("wood", "oak")),
        ("wood／oak", ("wood", "oak")),
        ("℀", ("a", "c")),
        ("Straße", ("strasse",)),
        ("ﬁne", ("fine",)),
    ],
)
def test_values_that_users_take_for_the_same_have_the_same_levels(
    written: str, value: tuple[str, ...]
) -> None:
    assert value_levels(written) == value


def test_a_cover_holds_escaped_levels_by_key() -> None:
    assert tag_map(tags("M=a:b/c#d", "size=10%")) == {"m": "a%3Ab#c%23d", "size": "10%25"}


@given(st.text(max_size=20))
def test_a_value_and_its_names_have_the_same_number_of_levels(text: str) -> None:
    assert len(value_levels(text)) == len(level_names(text))
    assert all("/" not in level for level in value_levels(text))


@given(st.lists(st.text("aB /é", min_size=1, max_size=4), min_size=1, max_size=4))
def test_each_level_lies_below_the_one_before(names: list[str]) -> None:
    found = tag_levels(Tag(key="k", value="/".join(names)))
    assert [len(level.value) for level in found] == list(range(1, len(found) + 1))
    assert [level.last for level in found] == [False] * (len(found) - 1) + [True]
    for above, below in pairwise(found):
        assert below.value[:-1] == above.value


@pytest.mark.parametrize(
    ("written", "paths"),
    [
        (("k=v",), []),
        (("=v",), [["tags", "0", "key"]]),
        (("k=",), [["tags", "0", "value"]]),
        (("k=a//b",), [["tags", "0", "value"]]),
        (("k=a\x00",), [["tags", "0", "value"]]),
        ((f"k={'x' * 129}",), [["tags", "0", "value"]]),
        ((f"k={'x' * 128}",), []),
        (("k=" + "/".join("abcdefghij"),), []),
        (("k=" + "/".join("abcdefghijk"),), [["tags", "0", "value"]]),
        (("k=v", "K =w"), [["tags", "1", "key"]]),
        (("=v", "k="), [["tags", "0", "key"], ["tags", "1", "value"]]),
        (tuple(f"k{n}=v" for n in range(50)), []),
        (tuple(f"k{n}=v" for n in range(51)), [["tags"]]),
    ],
)
def test_every_broken_rule_is_found_at_once(
    written: tuple[str, ...], paths: list[list[str]]
) -> None:
    assert [problem.path for problem in tag_problems(tags(*written))] == paths


def test_a_filter_tells_every_term_that_no_tag_could_match() -> None:
    with pytest.raises(Invalid) as refused:
        TagFilter(
            all=tags("k="), any=tags("k=v", "=v"), none=tags("k=a//b"), without_keys=("k", "")
        ).check()
    assert [problem.path for problem in refused.value.problems] == [
        ["tags", "withoutKeys", "1"],
        ["tags", "all", "0", "value"],
        ["tags", "any", "1", "key"],
        ["tags", "none", "0", "value"],
    ]


def test_a_filter_has_at_most_twenty_terms() -> None:
    TagFilter(all=tags(*["k=v"] * 10), any=tags(*["k=v"] * 10)).check()
    with pytest.raises(Invalid) as refused:
        TagFilter(all=tags(*["k=v"] * 10), any=tags(*["k=v"] * 11)).check()
    assert [problem.path for problem in refused.value.problems] == [["tags"]]
    with pytest.raises(Invalid) as refused:
        TagFilter(all=tags(*["k=v"] * 20), without_keys=("k",)).check()
    assert [problem.path for problem in refused.value.problems] == [["tags"]]
