"""Lists by a part of the name: what is found, by whom, and at which place in the list."""

from functools import partial

import pytest

from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Session, Store
from tests.support.sample_resources import (
    USA,
    create_groups,
    make,
    walk,
)

NAMES = (
    "Daily sales report",
    "daily_salmon-report.v2",
    "Überweisung Straße",
    "Ünique",
    "Saldo",
    "Report of DAILY sums",
)


async def found(session: Session, size: int = 1, group: GroupPath = USA, **name: str) -> list[str]:
    """The names that a search finds, newest first; a walk from the end finds the same."""
    asked = ListRequest(group=group, name=NameFilter(**name))
    read = partial(session.pipelines.listing.page, asked)
    names = [one.name for one in await walk(read, size)]
    backward = [one.name for one in await walk(read, size, backward=True)]
    assert backward == names
    return names


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"contains": "sal"}, [4, 1, 0]),
        ({"contains": "SALES"}, [0]),
        ({"contains": "ales"}, []),
        ({"contains": "rep dai"}, [5, 1, 0]),
        ({"contains": "strasse"}, [2]),
        ({"contains": "u"}, [3, 2]),
        ({"contains": "v2"}, [1]),
        ({"startsWith": "dai"}, [1, 0]),
        ({"startsWith": "daily s"}, [0]),
        ({"startsWith": "daily_s"}, [1]),
        ({"startsWith": "report"}, [5]),
        ({"startsWith": "ÜBER"}, [2]),
        ({"startsWith": "sales"}, []),
    ],
)
async def test_a_search_finds_names_by_their_beginning_or_by_beginnings_of_words(
    store: Store, part: dict[str, str], expected: list[int]
) -> None:
    session = await create_groups(store)
    for name in NAMES:
        await make(session, USA, name)
    given = {{"startsWith": "starts_with"}.get(key, key): text for key, text in part.items()}
    assert await found(session, **given) == [NAMES[n] for n in expected]
