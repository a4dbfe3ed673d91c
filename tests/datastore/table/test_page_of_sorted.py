"""A page of a list that is sorted as it is read: the same as of one that is held whole."""

from collections.abc import AsyncIterator, Iterable
from random import Random
from weakref import WeakSet

import pytest

from penstock.datastore.table.pages import Slice, Window, page_of_shuffled, page_of_sorted

COUNT = 1_000


class Thing:
    """A thing with a name, of which those that are held can be counted."""

    def __init__(self, name: str) -> None:
        self.name = name


async def stream(
    names: Iterable[str], held: WeakSet[Thing], most: list[int]
) -> AsyncIterator[Thing]:
    """Yield things one by one, and note the most that were held at once."""
    for name in names:
        thing = Thing(name)
        held.add(thing)
        yield thing
        del thing
        most[0] = max(most[0], len(held))


def mixed_names() -> list[str]:
    names = [f"{number:04}" for number in range(COUNT)]
    Random(1).shuffle(names)
    return names


async def read(window: Window, *, descending: bool = False) -> tuple[Slice[Thing], int]:
    most = [0]
    things = stream(mixed_names(), WeakSet(), most)
    page = await page_of_sorted(things, window, lambda thing: thing.name, descending=descending)
    return page, most[0]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("after", [None, "0000", "0007", "0500", "0999", "", "~"])
@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_page_has_the_next_things_in_order(
    size: int, after: str | None, backward: bool, descending: bool
) -> None:
    window = Window(size=size, after=after, backward=backward)
    down = descending is not backward
    behind = [
        name
        for name in sorted(mixed_names(), reverse=down)
        if after is None or (name < after if down else name > after)
    ]

    page, _ = await read(window, descending=descending)

    expected = behind[:size]
    assert page.reached == (expected[-1] if expected else after)
    if backward:
        expected.reverse()
    assert [(place, thing.name) for place, thing in page.entries] == [
        (one, one) for one in expected
    ]
    assert page.more == (len(behind) > size)


async def test_no_more_than_two_pages_of_a_long_list_are_held() -> None:
    for descending in (False, True):
        _, most = await read(Window(size=10), descending=descending)
        assert most <= 2 * 11 + 1


async def test_the_pages_of_a_shuffled_list_have_each_thing_once() -> None:
    met: list[str] = []
    window, more = Window(size=90), True
    while more:
        most = [0]
        things = stream(mixed_names(), WeakSet(), most)
        page = await page_of_shuffled(things, window, lambda thing: thing.name, "monday")
        met += [thing.name for _, thing in page.entries]
        assert most[0] <= 2 * 91 + 1
        more, window = page.more, Window(size=90, after=page.reached)

    assert met != sorted(met)
    assert sorted(met) == sorted(mixed_names())
