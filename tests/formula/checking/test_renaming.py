"""Other names are put in place of names, and nothing else of a text changes."""

import pytest

from penstock.formula.checking.renaming import rename
from penstock.formula.syntax.parser import parse

CALLS = {"a": "b", "long": "x", "ä": "ö_1"}
DATASETS = {"fuels": "its \\ 'new' name", "it's": "plain"}


def new_text(text: str) -> str:
    def call(name: str, group: str | None) -> str | None:
        return CALLS.get(name) if group is None else None

    def dataset(name: str, group: str | None) -> str | None:
        return DATASETS.get(name) if group is None else None

    return rename(text, call, dataset)


@pytest.mark.parametrize(
    ("text", "now"),
    [
        ("#a()", "#b()"),
        ("#a(#a(:a), #c('#a()'))", "#b(#b(:a), #c('#a()'))"),
        ("SET :y =  #long( 1 )\n\n  +  #a()\n:y", "SET :y =  #x( 1 )\n\n  +  #b()\n:y"),
        ("  1 +\n #ä(1,version=3)", "  1 +\n #ö_1(1,version=3)"),
        ("#a() + #a(group='/usa')", "#b() + #a(group='/usa')"),
        ("LOOKUP('fuels', 'fuels')", r"LOOKUP('its \\ \'new\' name', 'fuels')"),
        (r"LOOKUP('fuels', 'it\'s', 'k', 'fuels')", "LOOKUP('fuels', 'plain', 'k', 'fuels')"),
        (r"IMPACT('it\'s', :k, 'v') + #a()", "IMPACT('plain', :k, 'v') + #b()"),
        ("LOOKUP('fuels', 1, group = '/a')", "LOOKUP('fuels', 1, group = '/a')"),
        ("#a(group = ( '/a' ), x='(') + #a(')')", "#a(group = ( '/a' ), x='(') + #b(')')"),
        ("LOOKUP(:fuels, 'fuels')", "LOOKUP(:fuels, 'fuels')"),
        ("lookup((\n'it\\'s'),1,group=null)", "lookup((\n'plain'),1,group=null)"),
        ("CONCAT('fuels', '#a()')", "CONCAT('fuels', '#a()')"),
        ("IF(:t == '€#a', #a(), 'ü')", "IF(:t == '€#a', #b(), 'ü')"),
    ],
)
def test_only_the_names_change(text: str, now: str) -> None:
    assert new_text(text) == now
    assert parse(now).text == now
