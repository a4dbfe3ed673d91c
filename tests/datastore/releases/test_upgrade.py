"""The marker row, and the step that keeps the ids of what formulas name."""

from typing import Any

import msgspec

from penstock.datastore.records import Transformer
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import CALCULATION, PIPELINE
from penstock.datastore.table.port import Key
from penstock.datastore.table.schema_marker import (
    THIS_RELEASE,
    GuardedTable,
    SchemaMarker,
    place_marker,
    read_marker,
)
from penstock.datastore.upgrades.upgrade import Page, Step
from tests.support.consistency_check import contents
from tests.support.old_rows import forget_references
from tests.support.sample_resources import (
    OUTPUT,
    SUPER,
    USA,
    create_groups,
    draft,
    make_of,
    names_in,
)

MARKER = Key("SM", "SM")


def ignore(_step: Step, _page: Page) -> None:
    """A report that nobody reads."""


async def test_a_new_table_has_the_marker_of_this_release(store: Store) -> None:
    table = GuardedTable(store.table)
    await table.create()
    row = {"pk": "SM", "sk": "SM", "schema": THIS_RELEASE.schema}
    assert dict((await contents(store.table))[MARKER]) == row
    await table.create()
    assert dict((await contents(store.table))[MARKER]) == row
    assert await store.pending_upgrades() == []


async def test_a_table_of_an_earlier_release_is_marked_as_such(store: Store) -> None:
    session = await create_groups(store)
    await make_of(session, CALCULATION, USA, "rate")
    assert await read_marker(store.table) == SchemaMarker(schema=1)
    await place_marker(store.table)
    assert (await contents(store.table))[MARKER]["schema"] == 1
    assert await store.pending_upgrades() == [
        "Keeping the ids of what formulas name",
        "Listing resources by small rows",
        "Counting what groups and users keep",
        "Listing executions by group and state",
        "Finding things by the words of their names",
        "Listing resources under what they use",
    ]


async def calling(session: Session, name: str = "trips") -> Any:
    transform = {"index": 0, "formula": "#rate()", "outputs": (OUTPUT,)}
    transformer = msgspec.convert({"parameters": (), "transforms": (transform,)}, Transformer)
    content = {**draft(name), "transformer": transformer}
    return await session.pipelines.writing.create(USA, content, None)


async def test_the_upgrade_keeps_the_ids_of_what_formulas_mean(store: Store) -> None:
    session = await create_groups(store)
    rate = await make_of(session, CALCULATION, USA, "rate")
    made = [await calling(session, name) for name in ("one", "two")]
    plain = await make_of(session, PIPELINE, USA, "plain")
    (wanted,) = made[0].references
    assert wanted.id == rate.id
    for each in made:
        await forget_references(store.table, PIPELINE, each)
    await place_marker(store.table)
    found: list[Page] = []
    marker = await store.upgrade_rows(lambda _, page: found.append(page))
    assert marker == SchemaMarker(schema=12, minimum_reader=12, minimum_writer=12)
    assert [(page.examined, page.changed) for page in found] == [
        *((1, 0), (3, 2)),
        *((3, 0), (1, 0)),
        *((3, 0), (1, 0)),
        (0, 0),
        *((3, 0), (1, 0)),
        *((3, 2), (1, 0)),
    ]
    rows = await contents(store.table)
    for each in made:
        for key in (PIPELINE.latest.key(id=each.id), PIPELINE.version.key(id=each.id, version=1)):
            references: Any = rows[key]["references"]
            assert [one["id"] for one in references] == [rate.id]
    assert "references" not in rows[PIPELINE.latest.key(id=plain.id)]
    kept = await session.pipelines.reading.one(made[0].id)
    assert kept == msgspec.structs.replace(made[0], revision=3)
    await store.upgrade_rows(ignore)
    assert await contents(store.table) == rows
    assert await names_in(store.open_session(SUPER), USA) == ["one", "two", "plain"]


async def test_an_upgrade_leaves_what_it_cannot_read_or_resolve(store: Store) -> None:
    session = await create_groups(store)
    rate = await make_of(session, CALCULATION, USA, "rate")
    made = await calling(session)
    await forget_references(store.table, PIPELINE, made)
    await session.calculations.deleting.delete(rate.id, 1)
    await place_marker(store.table)
    before = await contents(store.table)
    await store.upgrade_rows(ignore)
    after = await contents(store.table)
    assert {key for key in after if after[key] != before.get(key)} == {MARKER}
