import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.functions.regex import Regex, Span, literal_pattern_cost, regex

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


def spans(pattern: str, text: str) -> list[tuple[int, int]]:
    return list(regex(pattern, WorkMeter()).matches(text, WorkMeter()))


def match_with_re(pattern: str) -> re.Pattern[str]:
    """Return a match of Python's `re`, with the end of the text in its notation."""
    return re.compile(pattern.replace("$", r"\Z"), re.ASCII)


@given(PATTERNS, st.text("abc1.é€🦉\n", max_size=10))
def test_the_first_match_is_that_of_a_backtracking_engine(pattern: str, text: str) -> None:
    expected = match_with_re(pattern).search(text)

    assert spans(pattern, text)[:1] == ([expected.span()] if expected else [])


@given(PATTERNS, st.text("abc1.é€🦉", max_size=10))
def test_each_match_is_the_first_one_behind_the_match_before(pattern: str, text: str) -> None:
    expected, at = [], 0
    engine = match_with_re(pattern)
    while at <= len(text) and (found := engine.search(text, at)):
        expected.append(found.span())
        at = found.end() + (found.start() == found.end())

    assert spans(pattern, text) == expected


@given(PATTERNS, st.text("abc1.é", max_size=10))
def test_the_groups_of_a_whole_text_are_those_of_a_backtracking_engine(
    pattern: str, text: str
) -> None:
    expected = match_with_re(pattern).fullmatch(text)

    assert Regex(pattern).captures(text) == (expected and (expected[0], *expected.groups()))


REFUSED = {
    "(": "a group is not closed",
    ")": "a `)` closes nothing",
    "a)": "a `)` closes nothing",
    "[a": "a class is not closed",
    "*a": "`*` has nothing to repeat",
    "a**": "the repetition `**` follows another one",
    "a++": "the repetition `++` follows another one",
    "a{2}{3}": "the repetition `{2}{3}` follows another one",
    "a{3,2}": "the repetition `{3,2}` is too large, or its minimum exceeds its maximum",
    "a{1001}": "the repetition `{1001}` is too large, or its minimum exceeds its maximum",
    "(a{50}){50}": "the repetition `{50}` is too large, or its minimum exceeds its maximum",
    r"\pL{60}": "it compiles to more than 524288 bytes",
    "(?=a)": "`(?=` is not supported; nothing that needs backtracking is",
    "(?!a)": "`(?!` is not supported; nothing that needs backtracking is",
    "(?<=a)": "`(?<=` is not supported; nothing that needs backtracking is",
    "(?>a)": "`(?>` is not supported; nothing that needs backtracking is",
    "(?P<a": "`(?P<a` does not begin a group with a name",
    "[z-a]": "`z-a` is not a valid range",
    "\\": "it ends too early",
    r"\1": r"`\1` is not understood",
    r"(a)\1": r"`\1` is not understood",
    r"[a-\d]": r"`\d` is not understood",
    r"\é": r"`\é` is not understood",
    r"a\C": r"`\C` is not understood",
    r"\Qa\E": r"`\Q` is not understood",
    "a" * 201: "longer than 200 characters",
}


PRICED = {
    r"a": 0,
    r"\pL\PN": 20_000,
    r"a{9}b{9}": 100_000,
    r"\pL{20}": 310_000,
    r"(?i)[^k]{20}": 300_000,
    r"((?mi:[^k]){20}){40}": 300_000,
}


@pytest.mark.parametrize(("pattern", "cost"), PRICED.items())
def test_a_pattern_costs_in_a_formula_what_it_costs_where_it_is_compiled(
    pattern: str, cost: int
) -> None:
    work = WorkMeter()
    with suppress(Fault):
        regex(pattern, work)
    assert work.take_spent() == 250 * len(pattern) + cost
    assert literal_pattern_cost(f"SPLIT(:x, '{pattern}')") == cost


def test_each_pattern_of_a_formula_costs_and_texts_without_one_are_free() -> None:
    pattern = r"(\pL{20}){40}"
    calls = [f"split(:x, '{n}{pattern}')" for n in range(40)]
    assert literal_pattern_cost("+".join(calls)) == 40 * 310_000
    assert literal_pattern_cost(f"'{pattern}'") == 0


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_needs_backtracking_or_is_malformed_is_refused(
    pattern: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Fault) as caught:
        regex(pattern, WorkMeter())

    assert caught.value.code == FormulaCode.INVALID_REGEX
    assert caught.value.message == f"the regular expression is invalid: {REFUSED[pattern]}"
    assert capfd.readouterr() == ("", "")


@given(st.text(r"ab()[]{}*+?|\^$.,-12dCQé€", max_size=20), st.text("ab1 2é€\ud800", max_size=7))
def test_any_pattern_works_or_is_refused(pattern: str, text: str) -> None:
    found, refused = [(0, 0)], FormulaCode.INVALID_REGEX
    try:
        found = spans(pattern, text)
    except Fault as fault:
        refused = fault.code

    assert refused == FormulaCode.INVALID_REGEX
    assert all(0 <= begin <= end <= len(text) for begin, end in found)
    assert found == sorted(set(found))


def test_a_class_may_hold_a_bracket_a_hyphen_and_escapes() -> None:
    assert spans(r"[]\-\d]", "]a-b7") == [(0, 1), (2, 3), (4, 5)]
    assert spans(r"[a-]", "-a") == [(0, 1), (1, 2)]


def test_classes_are_ascii_and_a_dot_stops_at_the_end_of_a_line() -> None:
    assert spans(r"\w", "é") == []
    assert spans(".+", "ab\ncd") == [(0, 2), (3, 5)]


def test_flags_word_edges_and_letters_of_every_script_are_understood() -> None:
    assert spans("(?i)KÖLN", "in köln") == [(3, 7)]
    assert spans(r"\b", "ab c") == [(0, 0), (2, 2), (3, 3), (4, 4)]
    assert spans(r"\p{L}+", "été, ночь") == [(0, 3), (5, 9)]


def test_a_backslash_may_stand_before_any_sign() -> None:
    assert spans(r"\€\_\/[\–]", "1€_/–") == [(1, 5)]


def test_places_count_characters_and_no_character_is_cut() -> None:
    assert spans("b", "é€🦉b") == [(3, 4)]
    assert spans("", "é🦉") == [(0, 0), (1, 1), (2, 2)]
    assert spans("[^a]", "a\ud800é") == [(1, 2), (2, 3)]


def test_plain_text_is_found_as_it_stands() -> None:
    assert spans(", ", "é, b, , c") == [(1, 3), (4, 6), (6, 8)]
    assert spans("aa", "aaaaa") == [(0, 2), (2, 4)]
    assert spans("aa", "a") == []


def test_an_empty_match_at_the_end_is_found_once() -> None:
    assert spans("$", "ab") == [(2, 2)]
    assert spans("a*", "baab") == [(0, 0), (1, 3), (3, 3), (4, 4)]


def test_ten_thousand_letters_that_would_backtrack_for_ever_are_matched(
    capfd: pytest.CaptureFixture[str],
) -> None:
    letters = "ab" * 5_000

    assert spans("(a+|b+)+c", letters) == []
    assert spans("(a+)+c|(a*b)", letters)[-1] == (9_998, 10_000)
    assert spans("[ab]*a[ab]{60}c|b$", letters) == [(9_999, 10_000)]
    assert capfd.readouterr() == ("", "")


def test_looking_ahead_over_and_over_spends_the_work_of_a_row() -> None:
    with pytest.raises(Fault) as caught:
        spans("x*y|x", "x" * 32_000)

    assert caught.value.code == FormulaCode.WORK_LIMIT


LARGE: Final = ".{0,99}z"


def test_a_text_costs_its_bytes() -> None:
    spent = []
    for text in ("e" * 640, "é" * 640, "🦉" * 640):
        work = WorkMeter()
        assert list(Regex(LARGE).matches(text, work)) == []
        spent.append(work.take_spent() - 8 * Regex(LARGE).size)
    assert spent == [60 * Regex(LARGE).size * width for width in (1, 2, 4)]


def test_a_search_that_a_row_could_not_pay_to_the_end_is_not_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []

    def note(_: Regex, encoded: bytes) -> Iterator[Span]:
        begun.append(encoded)
        return iter(())

    monkeypatch.setattr(Regex, "_byte_spans", note)
    compiled = Regex(LARGE)
    enough = 68 * compiled.size
    with pytest.raises(Fault) as caught:
        list(compiled.matches("e" * 640, WorkMeter(enough - 1)))
    assert caught.value.code == FormulaCode.WORK_LIMIT
    assert begun == []
    assert list(compiled.matches("e" * 640, WorkMeter(enough))) == []
    assert begun == [b"e" * 640]
