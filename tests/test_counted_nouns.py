"""Words for people count in the singular and the plural: `1 row`, `2 rows`.

The sources of what operators read are searched: an f-string with a number before a plural is a
fault, unless the number is a bound that does not change.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from penstock.datastore.text import say_count
from tests.support.parsed_modules import parse_module

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("resolvers", "schema/system", "server/commands", "server/samples")
_PLURAL: Final = re.compile(
    r" (?:other |sample )?(?:bytes|counts|datasets|deletes|documents|entries|executions|failures"
    r"|files|groups|items|jobs|keys|letters|pipelines|places|rows|runs|samples|secrets|tables"
    r"|things|tracks)\b"
)


def counted_plurals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for number, words in zip(node.values, node.values[1:], strict=False):
                if (
                    isinstance(number, ast.FormattedValue)
                    and not _is_bound(number.value)
                    and isinstance(words, ast.Constant)
                    and isinstance(words.value, str)
                    and _PLURAL.match(words.value)
                ):
                    yield f"{ast.unparse(number.value)}{words.value}"


def _is_bound(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id.isupper()


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (0, ("row",), "0 rows"),
        (1, ("row",), "1 row"),
        (2, ("row",), "2 rows"),
        (1, ("entry is", "entries are"), "1 entry is"),
        (2, ("entry is", "entries are"), "2 entries are"),
    ],
)
def test_a_number_has_the_noun_that_goes_with_it(
    count: int, words: tuple[str, ...], said: str
) -> None:
    assert say_count(count, *words) == said


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("f'{n} runs got stuck'", ["n runs got stuck"]),
        ("f'in {len(x)} sample tables'", ["len(x) sample tables"]),
        ("f'{MOST} runs at most'", []),
        ("f'{name} runs' f' of {n}'", ["name runs of "]),
        ("f'{n} run'", []),
    ],
)
def test_the_search_finds_numbers_before_plurals(source: str, found: list[str]) -> None:
    assert list(counted_plurals(ast.parse(source))) == found


def test_no_number_stands_before_a_plural_in_what_operators_read() -> None:
    found = {
        str(path.relative_to(ROOT)): faults
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (faults := list(counted_plurals(parse_module(path))))
    }
    assert found == {}
