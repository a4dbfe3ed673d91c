"""The floor of the tag search finds what the search finds."""

import pytest

from benchmarks import tag_search_floor
from benchmarks.tag_search_floor import PAGE, TAGS, measure, search_alone


async def test_both_searches_fill_the_page_and_the_floor_is_lower(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tag_search_floor, "PAGE", 2)
    found = await measure(61)
    ours, alone = found["Penstock"], found["SQLite alone"]
    assert len(ours.found) == len(alone.found) == 2
    assert alone.units <= ours.units


def test_the_newest_numbers_with_all_tags_are_found() -> None:
    step = 30
    assert all(step % each == 0 for each in TAGS.values())
    assert search_alone(3_000)().found == list(range(2_970, 2_970 - step * PAGE, -step))
