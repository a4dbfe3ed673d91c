"""A list of links passes over those that lead nowhere: its pages are full, and it ends exactly."""

from collections.abc import Sequence

import pytest

from penstock.datastore.table import pages
from penstock.datastore.table.pages import Slice, Window, make_slice, read_existing
from tests.support.sample_resources import walk


class Links:
    """A list of numbered links, some of which lead nowhere; it counts its reads."""

    def __init__(self, alive: Sequence[bool]) -> None:
        self.alive = alive
        self.reads = 0

    async def read(self, window: Window) -> Slice[int]:
        self.reads += 1
        numbers = [*range(len(self.alive))]
        if window.backward:
            numbers.reverse()
        start = 0 if window.after is None else numbers.index(int(window.after)) + 1
        found = numbers[start : start + window.size + 1]
        return make_slice(found, window, str, more=False)

    async def load(self, links: Sequence[int]) -> list[str | None]:
        return [f"thing {n}" if self.alive[n] else None for n in links]

    async def page(self, window: Window) -> Slice[str]:
        return await read_existing(window, self.read, self.load)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "alive",
    ["", "1", "0", "00000", "11111", "10000", "00001", "01010", "10101", "0" * 250 + "1" + "0" * 9],
)
async def test_a_walk_meets_every_living_thing_and_no_empty_page_that_goes_on(
    alive: str, size: int, *, backward: bool
) -> None:
    links = Links([letter == "1" for letter in alive])
    met: list[Slice[str]] = []

    async def page(window: Window) -> Slice[str]:
        met.append(await links.page(window))
        return met[-1]

    found = await walk(page, size, backward=backward)
    assert found == [f"thing {n}" for n, letter in enumerate(alive) if letter == "1"]
    assert all(len(each.entries) == size for each in met if each.more)
    shown = {str(n) for n, letter in enumerate(alive) if letter == "1"}
    assert {each.reached for each in met} <= {None, *shown}, "no position tells of the others"


async def test_a_page_without_deleted_things_is_one_read() -> None:
    links = Links([True] * 30)
    assert len((await links.page(Window(size=10))).entries) == 10
    assert links.reads == 1


async def test_the_search_is_bounded_and_goes_on_where_it_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pages, "SEARCHED", 2)
    monkeypatch.setattr(pages, "MAX_SEARCHES", 3)
    links = Links([False] * 40 + [True])
    page = await links.page(Window(size=1))
    assert (page.entries, page.more, page.reached, links.reads) == ((), True, "4", 3)
    assert await walk(links.page, 1) == ["thing 40"]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("limits", [(1, 1), (2, 3), (3, 2)])
@pytest.mark.parametrize("dead", [0, 1, 2, 5, 6, 7, 12, 13])
@pytest.mark.parametrize("size", [1, 2, 5])
async def test_a_walk_over_more_deleted_things_than_a_page_searches_neither_loops_nor_ends_early(
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    dead: int,
    limits: tuple[int, int],
    *,
    backward: bool,
) -> None:
    monkeypatch.setattr(pages, "SEARCHED", limits[0])
    monkeypatch.setattr(pages, "MAX_SEARCHES", limits[1])
    links = Links([*([True] + [False] * dead) * 4, True])
    living = [f"thing {n}" for n, alive in enumerate(links.alive) if alive]
    assert await walk(links.page, size, backward=backward) == living


async def test_only_behind_two_thousand_deleted_things_in_a_row_is_a_page_empty() -> None:
    first = 1 + (pages.MAX_SEARCHES - 1) * pages.SEARCHED
    for dead, entries in ((first - 1, 1), (first, 0)):
        page = await Links([False] * dead + [True]).page(Window(size=1))
        assert (len(page.entries), page.more) == (entries, entries == 0)
    assert await walk(Links([False] * 5_000 + [True]).page, 1) == ["thing 5000"]
