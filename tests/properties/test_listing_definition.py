"""Any list equals its definition, for every caller and every size of page."""

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.datastore.errors import NotFound
from penstock.datastore.records import Pipeline, Tag
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, GroupPath, Role, ancestors, covers
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SOUTH,
    SUPER,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
    walk,
)

PATHS = (ROOT, USA, NORTHWEST, SOUTH, EU)
TERMS = st.tuples(st.sampled_from("mn"), st.sampled_from(["a", "a/b", "b"])).map(
    lambda term: Tag(key=term[0], value=term[1])
)
FILTERS = st.builds(
    TagFilter,
    all=st.lists(TERMS, max_size=2).map(tuple),
    any=st.lists(TERMS, max_size=2).map(tuple),
    none=st.lists(TERMS, max_size=1).map(tuple),
)
CARRIED = [
    (path, m, n)
    for path in PATHS
    for m, n in (("a", "b"), ("a/b", ""), ("", "a"), ("b", "a/b"), ("", ""))
]


def carries(tag_set: tuple[Tag, ...], term: Tag) -> bool:
    return any(
        tag.key == term.key and (tag.value == term.value or tag.value.startswith(term.value + "/"))
        for tag in tag_set
    )


def matches(tag_set: tuple[Tag, ...], wanted: TagFilter) -> bool:
    return (
        all(carries(tag_set, term) for term in wanted.all)
        and (not wanted.any or any(carries(tag_set, term) for term in wanted.any))
        and not any(carries(tag_set, term) for term in wanted.none)
    )


@on_sqlite
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    group=st.sampled_from(PATHS),
    wanted=FILTERS,
    held=st.sampled_from(PATHS),
    child_groups=st.booleans(),
    newest_first=st.booleans(),
    size=st.integers(1, 30),
    backward=st.booleans(),
)
async def test_any_list_is_what_the_definition_says(
    store: Store,
    group: GroupPath,
    wanted: TagFilter,
    held: GroupPath,
    child_groups: bool,
    newest_first: bool,
    size: int,
    backward: bool,
) -> None:
    made = await everything(store)
    session = store.open_session(caller({held: Role.READER}))
    listed = ListRequest(
        group=group, tags=wanted, include_child_groups=child_groups, newest_first=newest_first
    )
    if not session.caller.sees(group):
        with pytest.raises(NotFound):
            await session.pipelines.listing.page(listed, Window())
        return
    expected = [
        pipeline.name
        for pipeline in made
        if any(
            granted in ancestors(group)
            or (child_groups and covers(group, granted) and session.caller.sees(granted))
            for granted in pipeline.groups
        )
        and matches(pipeline.tags, wanted)
    ]
    page = partial(session.pipelines.listing.page, listed)
    found = await walk(page, size, backward=backward)
    assert [pipeline.name for pipeline in found] == (expected[::-1] if newest_first else expected)


async def everything(store: Store) -> list[Pipeline]:
    """Fill the store, unless an earlier example did."""
    super_session = store.open_session(SUPER)
    listed = ListRequest(group=ROOT, include_child_groups=True, newest_first=False)
    filled = partial(super_session.pipelines.listing.page, listed)
    if not (await filled(Window(size=1))).entries:
        await create_groups(store)
        for n, (path, m, k) in enumerate(CARRIED):
            texts = [f"m={m}" if m else "", f"n={k}" if k else ""]
            made = await make(super_session, path, f"n{n}", *filter(None, texts))
            if n % 3 == 0 and path in (NORTHWEST, SOUTH):
                await super_session.pipelines.writing.grant(made.id, EU)
    return [pipeline for _, pipeline in (await filled(Window(size=100))).entries]
