"""The names that a scan of a text finds are those that its parsed tree has."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.formula.checking.dataset_uses import dataset_calls, dataset_place, pin_of
from penstock.formula.checking.mentions import Mention, find_mentions
from penstock.formula.checking.renaming import rename
from penstock.formula.core.errors import FormulaSyntax, Position
from penstock.formula.syntax.parser import parse, parse_uncached
from penstock.formula.syntax.tree import CalculationCall, Literal, walk
from tests.formula.random_formulas import formulas

QUOTED = re.compile(r"'(?:[^'\\\n]|\\[^\n])*'")
PIECES = (
    "(1)",
    "('a')",
    "'#a('",
    r"'it\'s, (\\'",
    ":x",
    ":a b#c:d",
    "2e5",
    "1.5",
    "true",
    "NULL",
    "-1",
    "SPLIT('a,b', ',')[0]",
    "IN(:x)",
    "#ä_1( )",
)
WRAPPED = (
    "#a({0})",
    "#a ( {0},\n{1} , group = 'g' )",
    "#b(version=2,group=('h'),x={0})",
    "#c({0}, group=-'g')",
    "LOOKUP({0},{1})",
    "lookup ({0}, 'fuels', 'k', {1}, group='g')",
    "LOOKUP({0}, ( 'it\\'s' ), :k, 'v')",
    "IMPACT('act', {0}, {1}, versionAsAt='2020-01-01T00:00:00Z')",
    "impact(('act'), {0}, {1})",
    "IF({0} == {1}, {0}, {1})",
    "({0}\n  <= {1})",
    "SWITCH({0}, {1}, 1, default={0})",
    "({0})",
    "{0} + {1}",
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Build texts from the inside out, some of which the parser refuses."""
    pool = list(PIECES)
    for _ in range(draw(st.integers(1, 8))):
        parts = draw(st.tuples(st.sampled_from(pool), st.sampled_from(pool)))
        pool.append(draw(st.sampled_from(WRAPPED)).format(*parts))
    lines = draw(st.lists(st.sampled_from(pool[len(PIECES) :]), min_size=1, max_size=2))
    return "\n".join([f"SET :y{n} = {line}" for n, line in enumerate(lines)] + [lines[-1]])


def mentions_in_tree(text: str) -> list[Mention]:
    formula = parse(text)
    starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def offset(at: Position) -> int:
        return starts[at.line - 1] + at.column - 1

    found = []
    for node in walk(formula):
        if isinstance(node, CalculationCall):
            start = offset(node.at) + 1
            group = pin_of(node.options).group
            found.append(Mention(start, start + len(node.name), node.name, group, is_call=True))
    for call in dataset_calls(formula):
        name = call.arguments[dataset_place(call.name, len(call.arguments))]
        if isinstance(name, Literal) and isinstance(name.value, str):
            written = QUOTED.match(text, offset(name.at))
            assert written is not None
            group = pin_of(call.options).group
            found.append(Mention(*written.span(), name.value, group, is_call=False))
    return sorted(found)


@given(texts() | formulas())
@example("(((((#a(LOOKUP(('x'), (('y')), group='g'), group='it')))))) * 1e5")
def test_the_scan_finds_what_the_tree_has(text: str) -> None:
    try:
        meant = mentions_in_tree(text)
    except FormulaSyntax:
        return
    assert sorted(find_mentions(text)) == meant


@given(texts() | formulas())
def test_what_is_renamed_back_is_the_same_text(text: str) -> None:
    try:
        before = parse(text)
    except FormulaSyntax:
        return
    there = rename(text, lambda name, _: f"{name}_z", lambda name, _: f"{name} 'z'")
    assert parse_uncached(there).text == there
    back = rename(there, lambda name, _: name[:-2], lambda name, _: name[:-4])
    assert parse(back).lines == before.lines


@given(st.text("#aL'(),=:1 \n\\e[]", max_size=40))
def test_any_text_can_be_scanned(text: str) -> None:
    for mention in find_mentions(text):
        assert 0 <= mention.start < mention.end <= len(text)
