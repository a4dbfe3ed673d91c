import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formula.errors import Code, Fault
from formula.regex import matches
from formula.work import Work

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\W", "[a-c1-3]", r"\.", "^", "$"])
NON_EMPTY = st.sampled_from(["a", "b", ".", "[ab]", r"\d", "ab", "(?:a|bc)", "(b|c.)"])
LOOPS = st.builds(
    "(?:{}){}".format,
    NON_EMPTY,
    st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??", "{1,3}?"]),
)
PATTERNS = st.recursive(
    ATOMS | LOOPS,
    lambda inner: (
        st.builds("{}{}".format, inner, inner) | st.builds("(?:{}|{})".format, inner, inner)
    ),
    max_leaves=5,
)


@given(PATTERNS, st.text("abc1.", max_size=10))
def test_the_first_match_is_that_of_a_backtracking_engine(pattern: str, text: str) -> None:
    expected = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search(text)
    found = next(matches(pattern, text, Work()), None)

    assert found == (expected.span() if expected else None)


@given(PATTERNS, st.text("abc1.", max_size=10))
def test_matches_are_in_order_and_do_not_overlap(pattern: str, text: str) -> None:
    at = 0
    for begin, end in matches(pattern, text, Work()):
        assert at <= begin <= end <= len(text)
        at = end


REFUSED = (
    *("(", ")", "a)", "[a", "*a", "a**", "a{2}{3}", "a{3,2}", "a{101}", "(a{50}){50}"),
    *("(?=a)", "(?!a)", "(?<=a)", "(?P<x>a)", "(?i)a", "a++", r"\b", r"\p{L}", "[z-a]", "[[a]]"),
    *("\\", r"\1", r"(a)\1", "(" * 18 + "a" + ")" * 18, "a" * 201, r"[a-\d]"),
)


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_needs_backtracking_or_is_malformed_is_refused(pattern: str) -> None:
    with pytest.raises(Fault) as caught:
        list(matches(pattern, "aaa", Work()))

    assert caught.value.code == Code.INVALID_REGEX


@given(st.text(r"ab()[]{}*+?|\^$.,-12d", max_size=20))
def test_any_pattern_works_or_is_refused(pattern: str) -> None:
    found, refused = [(0, 7)], Code.INVALID_REGEX
    try:
        found = list(matches(pattern, "ab1 2ba", Work()))
    except Fault as fault:
        refused = fault.code

    assert refused == Code.INVALID_REGEX
    assert all(0 <= begin <= end <= 7 for begin, end in found)


def test_a_class_may_hold_a_bracket_a_hyphen_and_escapes() -> None:
    assert list(matches(r"[]\-\d]", "]a-b7", Work())) == [(0, 1), (2, 3), (4, 5)]
    assert list(matches(r"[a-]", "-a", Work())) == [(0, 1), (1, 2)]


def test_classes_are_ascii_and_a_dot_stops_at_the_end_of_a_line() -> None:
    assert list(matches(r"\w", "é", Work())) == []
    assert list(matches(r".+", "ab\ncd", Work())) == [(0, 2), (3, 5)]
