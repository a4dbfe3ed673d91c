"""Versions of a pipeline, newest first."""

from functools import partial

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.records import Pipeline, PipelineVersion
from penstock.datastore.resources.versions import VersionsRequest
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from tests.support.sample_resources import (
    EU,
    USA,
    create_groups,
    make,
    on_sqlite,
    tags,
    walk,
    without_moto,
)

NUMBERS = list(range(12, 0, -1))


async def twelve(session: Session) -> Pipeline:
    made = await make(session, USA, "Smelt", "n=1")
    for version in range(1, 12):
        changes = {"description": f"v{version + 1}", "tags": tags(f"n={version + 1}")}
        made = await session.pipelines.writing.update(made.id, version, changes)
    return made


def numbers(page: Slice[Pipeline]) -> list[int]:
    assert [position for position, _ in page.entries] == [str(v.version) for _, v in page.entries]
    return [version.version for _, version in page.entries]


@without_moto
async def test_versions_are_listed_newest_first_beyond_the_ninth(store: Store) -> None:
    session = await create_groups(store, USA)
    made = await twelve(session)
    listed = await session.pipelines.versions.page(made, Window())
    assert numbers(listed) == NUMBERS
    assert not listed.more
    assert all(isinstance(version, PipelineVersion) for _, version in listed.entries)
    assert [v.description for _, v in listed.entries] == [*(f"v{n}" for n in NUMBERS[:-1]), None]
    assert [v.tags for _, v in listed.entries] == [tags(f"n={n}") for n in NUMBERS]


@pytest.mark.parametrize("size", [1, 5, 7, 12, 13])
@on_sqlite
async def test_pages_in_both_directions_give_the_whole_list(store: Store, size: int) -> None:
    session = await create_groups(store, USA)
    made = await twelve(session)
    versions = session.pipelines.versions

    async def together(window: Window) -> Slice[Pipeline]:
        other, page = await versions.pages(
            [(made, VersionsRequest(Window(size=3))), (made, VersionsRequest(window))]
        )
        assert numbers(other) == [12, 11, 10]
        return page

    for page in (partial(versions.page, made), together):
        for backward in (False, True):
            found = await walk(page, size, backward=backward)
            assert [version.version for version in found] == NUMBERS


@pytest.mark.parametrize(
    ("window", "found", "more", "reached"),
    [
        (Window(size=2), [12, 11], True, "11"),
        (Window(size=2, after="11"), [10, 9], True, "9"),
        (Window(size=2, after="3"), [2, 1], False, "1"),
        (Window(size=2, after="1"), [], False, "1"),
        (Window(size=2, backward=True), [2, 1], True, "2"),
        (Window(size=2, after="10", backward=True), [12, 11], False, "12"),
        (Window(size=2, after="12", backward=True), [], False, "12"),
        (Window(size=6, after="9"), [8, 7, 6, 5, 4, 3], True, "3"),
        (Window(size=6, after="7", backward=True), [12, 11, 10, 9, 8], False, "12"),
    ],
)
@on_sqlite
async def test_a_page_says_where_it_ends_and_whether_the_list_goes_on(
    store: Store, window: Window, found: list[int], more: bool, reached: str
) -> None:
    session = await create_groups(store, USA)
    made = await twelve(session)
    (together,) = await session.pipelines.versions.pages([(made, VersionsRequest(window))])
    for page in (together, await session.pipelines.versions.page(made, window)):
        assert (numbers(page), page.more, page.reached) == (found, more, reached)


@on_sqlite
async def test_versions_of_several_pipelines_are_aligned(store: Store) -> None:
    session = await create_groups(store, USA)
    twelfth, first = await twelve(session), await make(session, USA, "Cast")
    pages = await session.pipelines.versions.pages(
        [
            (first, VersionsRequest(Window())),
            (twelfth, VersionsRequest(Window(size=2))),
            (twelfth, VersionsRequest(Window())),
            (first, VersionsRequest(Window())),
        ]
    )
    assert [numbers(page) for page in pages] == [[1], [12, 11], NUMBERS, [1]]
    asked = [(twelfth, 3), (first, 2), (twelfth, 13), (first, 1), (twelfth, 0)]
    found = await session.pipelines.versions.by_number(asked)
    assert [one.version if isinstance(one, Pipeline) else one.message for one in found] == [
        3,
        "There is no version 2.",
        "There is no version 13.",
        1,
        "There is no version 0.",
    ]
    assert await session.pipelines.versions.pages([]) == []


@pytest.mark.parametrize("version", [-1, 0, 2, 9_999_999_999, 10_000_000_000])
@on_sqlite
async def test_a_version_that_is_not_there_is_not_found(store: Store, version: int) -> None:
    session = await create_groups(store, USA)
    made = await make(session, USA, "Smelt")
    with pytest.raises(NotFound):
        await session.pipelines.versions.one(made.id, version)


@on_sqlite
async def test_an_old_version_is_admitted_by_the_grants_of_today(store: Store) -> None:
    session = await create_groups(store)
    made = await make(session, USA, "Smelt")
    made = await session.pipelines.writing.update(made.id, 1, {"name": "Forge"})
    await session.pipelines.writing.grant(made.id, EU)
    old = await session.pipelines.versions.one(made.id, 1)
    assert (old.name, old.version, old.groups) == ("Smelt", 1, (USA,))
    assert (await session.pipelines.versions.one(made.id, 2)).name == "Forge"
