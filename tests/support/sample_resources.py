"""Callers, groups, drafts and list walks for tests above the table."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.records import (
    DatasetColumn,
    DatasetContent,
    MeasureFunction,
    Output,
    Pipeline,
    Resource,
    Tag,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import (
    CALCULATION,
    KINDS,
    METRIC,
    OPEN_UPLOAD,
    PIPELINE,
    REFERENCE_DATASET,
    KindDefinition,
)
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import TTL, Item, Put, Table

T = TypeVar("T")
R = TypeVar("R", bound=Resource)

USA = GroupPath("/usa")
NORTHWEST = GroupPath("/usa/northwest")
SOUTH = GroupPath("/usa/south")
EU = GroupPath("/eu")
TREE = (USA, NORTHWEST, SOUTH, EU)

SUPER = Caller("super", {ROOT: Role.ADMIN})
OUTPUT = Output(index=0, type=ValueType.NUMBER)
TRANSFORMER = Transformer(
    parameters=(), transforms=(Transform(index=0, formula="1", outputs=(OUTPUT,)),)
)
OWN: Mapping[str, Mapping[str, Any]] = {
    PIPELINE.letter: {"transformer": TRANSFORMER},
    CALCULATION.letter: {"formula": "1", "parameters": (), "outputs": (OUTPUT,)},
    REFERENCE_DATASET.letter: {
        "content": DatasetContent(
            columns=(DatasetColumn(name="k", type=ValueType.STRING),),
            key_column="k",
            file="f",
            checksum="",
            size_bytes=0,
            row_count=0,
        )
    },
    METRIC.letter: {"function": MeasureFunction.SUM, "inputs": ()},
}
"""The fields that only one kind has."""

on_sqlite = pytest.mark.parametrize("implementation", ["sqlite"], indirect=True)
"""For tests of logic that does not depend on the store: the fast embedded table alone."""

without_moto = pytest.mark.parametrize("implementation", ["sqlite", "dynoxide"], indirect=True)
"""For concurrent or large tests: moto's transactions conflict, and copy the whole table."""

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.noun)
"""For behaviour that all kinds of resource share."""


def caller(roles: Mapping[GroupPath, Role], user_id: str = "ann") -> Caller:
    return Caller(user_id, roles)


def tags(*texts: str) -> tuple[Tag, ...]:
    """Return tags for texts like `material=wood/oak`."""
    return tuple(Tag(key=key, value=value) for key, _, value in (t.partition("=") for t in texts))


def draft_of(kind: KindDefinition[R], name: str, *tagged: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "tags": tags(*tagged), **OWN[kind.letter], **more}


def draft(name: str, *tagged: str, **more: Any) -> dict[str, Any]:
    return draft_of(PIPELINE, name, *tagged, **more)


async def create_groups(store: Store, *paths: GroupPath) -> Session:
    """Create the groups, parents first; returns the super user's session."""
    session = store.open_session(SUPER)
    for path in paths or TREE:
        await session.groups.create(path, None)
    return session


async def open_one_shard(store: Store) -> Store:
    """Create the groups, and open the one shard of each; the store returned has no other.

    So no write of a test opens a shard on the way.
    """
    narrow = replace(store, shards=1)
    session = await create_groups(narrow)
    for group in TREE:
        made = await make(session, group, "first")
        await session.pipelines.deleting.delete(made.id)
    return narrow


async def make_of(
    session: Session, kind: KindDefinition[R], group: GroupPath, name: str, *tagged: str
) -> R:
    return await session.repository(kind).writing.create(group, draft_of(kind, name, *tagged), None)


async def make(session: Session, group: GroupPath, name: str, *tagged: str) -> Pipeline:
    return await make_of(session, PIPELINE, group, name, *tagged)


async def names_of(
    session: Session, kind: KindDefinition[R], group: GroupPath, **listed: Any
) -> list[str]:
    """Return all names in a group, oldest first unless `listed` says otherwise."""
    listing = ListRequest(group=group, **{"newest_first": False, **listed})
    page = await session.repository(kind).listing.page(listing, Window(size=1000))
    assert not page.more
    return [resource.name for _, resource in page.entries]


async def names_in(session: Session, group: GroupPath, **listed: Any) -> list[str]:
    return await names_of(session, PIPELINE, group, **listed)


async def walk(
    page: Callable[[Window], Awaitable[Slice[T]]], size: int = 1, *, backward: bool = False
) -> list[T]:
    """Read a list page by page from one end to the other; returns it in the list's order."""
    found: list[T] = []
    after = None
    for _ in range(200):
        part = await page(Window(size=size, after=after, backward=backward))
        assert len(part.entries) <= size
        items = [item for _, item in part.entries]
        found = items + found if backward else found + items
        if not part.more:
            return found
        assert part.reached != after, "a page that goes on must get further"
        after = part.reached
    raise AssertionError("the list does not end")


async def fill_open_uploads(table: Table, user: str) -> None:
    """Give a user as many open uploads as a caller may have; they stay open for long."""
    forever: Item = {"subject": "dataset:x", "openedAt": 0, TTL: 2**32}
    for start in range(0, UploadLimits().per_caller, 25):
        places = range(start, start + 25)
        rows = [OPEN_UPLOAD.item(kind="user", holder=user, place=n) for n in places]
        await table.write([Put({**row, **forever}) for row in rows])


def with_many_upload_places(store: Store) -> Store:
    """Give a store so many places for uploads that one at random is free: counts are exact."""
    return replace(store, upload_limits=UploadLimits(10**9, 10**9))


class Watch:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.time = datetime(2022, 8, 10, 23, 55, 20, 322000, UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, by: timedelta) -> None:
        self.time += by
