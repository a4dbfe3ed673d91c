"""The tree of columns of a Parquet file, which is bounded before an engine plans a query of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.input_files.thrift import DamagedStruct

MOST_COLUMNS: Final = 3_000
"""Columns, each of which is three expressions of a query: the time to plan it grows faster."""

MOST_ELEMENTS: Final = 10_000
"""Elements of the tree: columns, and the fields and lists within them."""

MOST_NAMES: Final = 1024 * 1024
"""Bytes of the names of all elements, as many as a header of CSV has."""

MOST_DEPTH: Final = 32
"""Elements that lie in one another."""

MOST_LISTS: Final = 10
"""Lists that lie in one another: each doubles the time that an engine takes to read them."""


class RefusedFile(Exception):
    """The reason why a file is refused."""


@dataclass(slots=True)
class Element:
    """An element of the tree: how many stand below it, and whether it is there many times."""

    children: int = 0
    is_repeated: bool = False


@dataclass(slots=True)
class _Level:
    """An element whose children follow: how many are still to come, and its lists."""

    missing: int
    lists: int


def count_leaves(elements: Sequence[Element]) -> int:
    """Count the elements that hold values; raises for what is no tree, or a too large one."""
    if not elements:
        raise DamagedStruct
    if elements[0].children > MOST_COLUMNS:
        raise RefusedFile(f"it has more than {MOST_COLUMNS} columns")
    levels = [_Level(1, 0)]
    for one in elements:
        _add_element(one, levels)
    if any(level.missing for level in levels):
        raise DamagedStruct
    return sum(not one.children for one in elements)


def _add_element(one: Element, levels: list[_Level]) -> None:
    while levels and not levels[-1].missing:
        levels.pop()
    if one.children < 0 or not levels:
        raise DamagedStruct
    levels[-1].missing -= 1
    lists = levels[-1].lists + one.is_repeated
    if one.children:
        levels.append(_Level(one.children, lists))
    if len(levels) > MOST_DEPTH:
        raise RefusedFile(f"its columns have more than {MOST_DEPTH} levels")
    if lists > MOST_LISTS:
        raise RefusedFile(f"its columns have more than {MOST_LISTS} lists in one another")
