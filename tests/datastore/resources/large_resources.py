"""Resources that are too large for one transaction, and the rows that a delete must leave."""

from dataclasses import replace
from typing import Any

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import ROOT
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.items import version_item
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Key, Table, Update
from tests.datastore.table.sample_items import store as put_all
from tests.support.consistency_check import contents
from tests.support.sample_resources import EU, NORTHWEST, SOUTH, SUPER, make_of, names_of, tags
from tests.support.table_interceptors import CutOffTable, dies

GRANTED = [NORTHWEST, SOUTH, EU]
OF_GROUPS = ("G:", "GC:", "QG:", "QU:")
"""Key prefixes of groups and of the rows in which their resources are counted."""


async def add_versions(
    store: Store, kind: KindDefinition[Any], made: Resource, versions: int
) -> Any:
    """Give the resource so many versions without updates."""
    items = [
        {**version_item(kind, made), **kind.version.item(id=made.id, version=version)}
        | {"version": version}
        for version in range(2, versions + 1)
    ]
    if items:
        await put_all(store.table, items)
    await store.table.transact([Update(key=kind.latest.key(id=made.id), set={"version": versions})])
    return await store.open_session(SUPER).repository(kind).reading.one(made.id)


async def make_tag_laden(session: Session, kind: KindDefinition[Any]) -> Any:
    """Make a resource whose tags alone are too many for one transaction, a few at a time."""
    made = await make_of(session, kind, NORTHWEST, "Smelt")
    for n in (12, 24, 32, 38, 42, 44, 45, 46, 47):
        changes = {"tags": tags(*(f"k{m}=a/b" for m in range(n)))}
        made = await session.repository(kind).writing.update(made.id, made.version, changes)
    return made


async def make_widely_granted(session: Session, kind: KindDefinition[Any]) -> Any:
    """Make a resource whose grants and tags together are too many for one transaction."""
    made = await make_of(session, kind, NORTHWEST, "Smelt", *(f"k{n}=a/b" for n in range(7)))
    for group in (SOUTH, EU):
        made, _ = await session.repository(kind).writing.grant(made.id, group)
    return made


async def remaining_rows(table: Table) -> list[Key]:
    """The rows that are left of resources; groups and the rows that count in them stay."""
    return [key for key in await contents(table) if not key.pk.startswith(OF_GROUPS)]


async def own_rows(table: Table, kind: KindDefinition[Any]) -> set[str]:
    """The partitions of the kind that are left."""
    return {key.pk for key in await remaining_rows(table) if key.pk.startswith(f"{kind.letter}:")}


async def assert_gone(session: Session, kind: KindDefinition[Any], id: str) -> None:
    (found,) = await session.repository(kind).reading.many([id])
    assert isinstance(found, NotFound)
    with pytest.raises(NotFound):
        await session.repository(kind).versions.one(id, 1)
    with pytest.raises(NotFound):
        await session.repository(kind).writing.update(id, 1, {})
    with pytest.raises(NotFound):
        await session.repository(kind).deleting.delete(id)
    for group in GRANTED:
        assert await names_of(session, kind, group) == []
    everything = ListRequest(group=ROOT, include_child_groups=True)
    assert (await session.repository(kind).listing.page(everything, Window())).entries == ()


async def cut_short(store: Store, kind: KindDefinition[Any], made: Resource, writes: int) -> bool:
    """Delete in a process that dies after so many writes; return whether it died."""
    session = replace(store, table=CutOffTable(store.table, writes)).open_session(SUPER)
    return await dies(session.repository(kind).deleting.delete(made.id))
