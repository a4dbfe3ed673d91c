"""Lists by a part of the name: what is found, by whom, and at which place in the list."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.errors import Invalid, NotFound
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KINDS, NAME_WORD, PIPELINE, KindDefinition
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    caller,
    create_groups,
    each_kind,
    make,
    make_of,
    on_sqlite,
    tags,
    walk,
    without_moto,
)

NAMES = (
    "Daily sales report",
    "daily_salmon-report.v2",
    "Überweisung Straße",
    "Ünique",
    "Saldo",
    "Report of DAILY sums",
)

FEW = Budget(candidates=1)
"""A budget with which nearly every word is common, so that lists are read instead."""


async def find_names(
    session: Session, name: NameFilter, kind: KindDefinition[Any] = PIPELINE, **listed: Any
) -> list[str]:
    """The names that a search finds, newest first; walks by single entries find the same."""
    asked = ListRequest(**{"group": USA, "name": name, **listed})
    read = partial(session.repository(kind).listing.page, asked)
    names = [one.name for one in await walk(read, 1)]
    for size, backward in ((1, True), (2, False), (100, True)):
        assert [one.name for one in await walk(read, size, backward=backward)] == names
    return names


def starts(text: str) -> NameFilter:
    return NameFilter(starts_with=text)


def has(text: str) -> NameFilter:
    return NameFilter(contains=text)


@pytest.mark.parametrize("budget", [Budget(), FEW], ids=["rare", "common"])
@without_moto
async def test_a_search_finds_names_by_their_beginning_or_by_beginnings_of_words(
    store: Store, budget: Budget
) -> None:
    session = await create_groups(replace(store, list_budget=budget))
    for name in NAMES:
        await make(session, USA, name)
    cases: Mapping[NameFilter, list[int]] = {
        has("sal"): [4, 1, 0],
        has("SALES"): [0],
        has("ales"): [],
        has("rep dai"): [5, 1, 0],
        has("strasse"): [2],
        has("u"): [3, 2],
        has("v2"): [1],
        starts("dai"): [1, 0],
        starts("daily s"): [0],
        starts(" daily_s"): [1],
        starts("report"): [5],
        starts("ÜBER"): [2],
        starts("sales"): [],
    }
    for part, expected in cases.items():
        assert await find_names(session, part) == [NAMES[n] for n in expected]


@each_kind
async def test_every_kind_is_searched_and_finds_only_its_own(
    store: Store, kind: KindDefinition[Any]
) -> None:
    session = await create_groups(store)
    await make_of(session, kind, USA, "Night shift")
    assert await find_names(session, has("shi"), kind) == ["Night shift"]
    others = [each for each in KINDS if each is not kind]
    assert [await find_names(session, has("shi"), other) for other in others] == [[]] * len(others)


@pytest.mark.parametrize("budget", [Budget(), FEW], ids=["rare", "common"])
@without_moto
async def test_a_search_obeys_all_other_arguments_of_the_list(store: Store, budget: Budget) -> None:
    session = await create_groups(replace(store, list_budget=budget))
    many = [f"k{n}=v" for n in range(17)]
    for group, name, tagged in (
        (ROOT, "night root", ["m=a/b"]),
        (USA, "night usa", ["m=a"]),
        (NORTHWEST, "night northwest", ["m=a/b", *many]),
        (SOUTH, "night south", ["m=c"]),
        (USA, "day usa", ["m=a/b"]),
        (EU, "night eu", ["m=a"]),
    ):
        await make(session, group, name, *tagged)
    night = has("nig")
    assert await find_names(session, night) == ["night usa", "night root"]
    assert await find_names(session, night, group=NORTHWEST, newest_first=False) == [
        "night root",
        "night usa",
        "night northwest",
    ]
    below = await find_names(session, night, include_child_groups=True)
    assert below == ["night south", "night northwest", "night usa", "night root"]
    everything = await find_names(session, night, group=ROOT, include_child_groups=True)
    assert everything == ["night eu", *below]
    for terms, expected in (
        ({"all": "m=a"}, ["night northwest", "night usa", "night root"]),
        ({"all": "m=a/b"}, ["night northwest", "night root"]),
        ({"all": "m=a k3=v"}, ["night northwest"]),
        ({"any": "m=c k3=v"}, ["night south", "night northwest"]),
        ({"none": "m=a"}, ["night south"]),
    ):
        parts: dict[str, Any] = {part: tags(*text.split()) for part, text in terms.items()}
        wanted = TagFilter(**parts)
        names = await find_names(session, night, include_child_groups=True, tags=wanted)
        assert names == expected


async def test_a_search_finds_nothing_that_its_caller_does_not_see(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "secret plan")
    await make(session, EU, "public plan")
    reader = store.open_session(caller({EU: Role.READER}, "eve"))
    plan = has("plan")
    assert await find_names(reader, plan, group=EU) == ["public plan"]
    assert await find_names(reader, has("secret"), group=EU) == []
    with pytest.raises(NotFound):
        await find_names(reader, plan, group=USA)
    everywhere = await find_names(reader, plan, group=ROOT, include_child_groups=True)
    assert everywhere == ["public plan"]
    nobody = store.open_session(caller({}, "nobody"))
    with pytest.raises(NotFound):
        await find_names(nobody, plan, group=EU)
    await session.pipelines.writing.grant(made.id, EU)
    assert await find_names(reader, plan, group=EU) == ["public plan", "secret plan"]
    await session.pipelines.writing.revoke(made.id, EU)
    assert await find_names(reader, plan, group=EU) == ["public plan"]
    assert await faults(store.table) == []


async def test_renames_and_deletes_are_seen_by_the_next_search(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Old name")
    await session.pipelines.writing.grant(made.id, EU)
    await session.pipelines.writing.update(made.id, 1, {"name": "New name"})
    assert [await find_names(session, has(text)) for text in ("old", "new", "name")] == [
        [],
        ["New name"],
        ["New name"],
    ]
    assert await find_names(session, starts("new n"), group=EU) == ["New name"]
    await session.pipelines.writing.update(made.id, 2, {"name": "NEW NAME"})
    assert await find_names(session, has("name")) == ["NEW NAME"]
    assert await faults(store.table) == []
    await session.pipelines.deleting.delete(made.id)
    assert await find_names(session, has("name")) == []
    assert [key for key in await contents(store.table) if key.pk.startswith("NW:")] == []


@on_sqlite
async def test_a_word_that_a_name_no_longer_has_finds_nothing(store: Store) -> None:
    """An index of words, or a replica, may be late: the record decides."""
    session = await create_groups(store)
    made = await make(session, USA, "Now")
    stale = {**NAME_WORD.item(group=USA, kind="P", word="before", id=made.id), "name": "before"}
    gone = {**NAME_WORD.item(group=EU, kind="P", word="now", id=made.id), "name": "now"}
    await store.table.transact([Put(stale), Put(gone)])
    assert await find_names(session, has("before")) == []
    assert await find_names(session, has("now"), group=EU) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (has(""), "must not be empty"),
        (has("  "), "must not be empty"),
        (has("--"), "has no letter and no digit"),
        (starts("\u0301"), "has no letter and no digit"),
        (has("a" * 129), "is longer than 128 characters"),
        (starts("a\x00"), "holds the character U+0000"),
        (has("\ud800"), "holds the character U+D800"),
    ],
)
@on_sqlite
async def test_a_part_that_can_find_nothing_is_refused(
    store: Store, name: NameFilter, message: str
) -> None:
    session = await create_groups(store)
    with pytest.raises(Invalid, match=message.replace("+", r"\+")) as refused:
        await find_names(session, name)
    field = "contains" if name.starts_with is None else "startsWith"
    assert [problem.path for problem in refused.value.problems] == [["name", field]]


@on_sqlite
@pytest.mark.parametrize("name", [NameFilter(), NameFilter(starts_with="a", contains="a")])
async def test_exactly_one_part_is_given(store: Store, name: NameFilter) -> None:
    session = await create_groups(store)
    with pytest.raises(Invalid, match="give either `startsWith` or `contains`") as refused:
        await find_names(session, name)
    assert [problem.path for problem in refused.value.problems] == [["name"]]


@on_sqlite
async def test_only_the_first_eight_words_of_a_name_find_it(store: Store) -> None:
    session = await create_groups(store)
    name = "one two three four five six seven eight nine"
    await make(session, USA, name)
    await make(session, USA, "--")
    assert await find_names(session, has("eight")) == [name]
    assert await find_names(session, has("nine")) == []
    assert await find_names(session, starts(name)) == [name]
    assert await find_names(session, starts("-")) == ["--"]


@on_sqlite
async def test_a_page_that_reads_very_much_ends_early_and_goes_on(store: Store) -> None:
    session = await create_groups(store)
    matching = []
    for n in range(40):
        name = f"row {n:02}" if n % 13 == 0 else f"other {n:02}"
        matching += [name] if n % 13 == 0 else []
        await make(session, USA, name)
    small = Budget(candidates=1, rounds=1)
    few = replace(store, list_budget=small).open_session(SUPER)
    asked = ListRequest(group=USA, name=has("row"), newest_first=False)
    first = await few.pipelines.listing.page(asked, Window(size=3))
    assert ([one.name for _, one in first.entries], first.more) == (matching[:1], True)
    assert await find_names(few, has("row"), newest_first=False) == matching
