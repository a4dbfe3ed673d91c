"""The upgrade of the table's rows to the form of this release, in steps that can be resumed."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.table.layout import SCHEMA_MARKER
from penstock.datastore.table.port import (
    AnyOf,
    Compare,
    ConditionFailed,
    Missing,
    Table,
    Update,
    Value,
)
from penstock.datastore.table.schema_marker import (
    SchemaMarker,
    place_marker,
    raise_minimums,
    read_marker,
)
from penstock.datastore.upgrades.execution_lists import list_executions
from penstock.datastore.upgrades.formula_ids import keep_formula_ids
from penstock.datastore.upgrades.kept_amounts import count_resources
from penstock.datastore.upgrades.name_words import find_by_words
from penstock.datastore.upgrades.small_rows import list_by_small_rows
from penstock.datastore.upgrades.use_rows import list_users


class Page(NamedTuple):
    """A part of a step that is done: the place it reached, and the rows it examined and changed."""

    cursor: str
    examined: int
    changed: int


@dataclass(frozen=True, slots=True)
class Step:
    """A step to the number `schema`, and what a release must know to use the rows behind it.

    `run` goes on behind a cursor that an earlier run reached. It may meet rows that are changed
    already, and changes no row twice.
    """

    schema: int
    title: str
    run: Callable[[Access, str | None], AsyncIterator[tuple[str, int, int]]]
    minimum_reader: int = 1
    minimum_writer: int = 1


STEPS: Final[Sequence[Step]] = (
    Step(2, "Keeping the ids of what formulas name", keep_formula_ids),
    Step(
        6, "Listing resources by small rows", list_by_small_rows, minimum_reader=6, minimum_writer=6
    ),
    Step(
        8,
        "Counting what groups and users keep",
        count_resources,
        minimum_reader=8,
        minimum_writer=8,
    ),
    Step(
        10,
        "Listing executions by group and state",
        list_executions,
        minimum_reader=10,
        minimum_writer=10,
    ),
    Step(
        11,
        "Finding things by the words of their names",
        find_by_words,
        minimum_reader=11,
        minimum_writer=11,
    ),
    Step(
        12,
        "Listing resources under what they use",
        list_users,
        minimum_reader=12,
        minimum_writer=12,
    ),
)


async def pending_steps(table: Table, steps: Sequence[Step] = STEPS) -> list[Step]:
    """The steps that the table still needs, in their order."""
    marker = await read_marker(table)
    return [step for step in steps if step.schema > marker.schema]


async def upgrade_rows(
    access: Access,
    steps: Sequence[Step] = STEPS,
    report: Callable[[Step, Page], None] = lambda _step, _page: None,
) -> SchemaMarker:
    """Bring all rows to the form of the last step, and return the marker.

    The marker notes the place that each step reached, so an upgrade that was stopped goes on there.
    Servers go on meanwhile; two upgrades at once do the same work twice, and no harm.
    """
    await place_marker(access.table)
    for step in steps:
        marker = await read_marker(access.table)
        if marker.schema >= step.schema:
            continue
        cursor = marker.cursor if marker.step == step.schema else None
        async for reached in step.run(access, cursor):
            page = Page(*reached)
            await _note(access.table, marker, {"step": step.schema, "cursor": page.cursor})
            report(step, page)
        # Not with the note: a server may have raised them since the marker was read.
        await raise_minimums(access.table, reader=step.minimum_reader, writer=step.minimum_writer)
        await _note(access.table, marker, {"schema": step.schema}, ("step", "cursor"))
    return await read_marker(access.table)


async def _note(
    table: Table, marker: SchemaMarker, changes: dict[str, Value], remove: tuple[str, ...] = ()
) -> None:
    """Write the marker, unless another upgrade has ended the step."""
    unchanged = AnyOf((Missing("schema"), Compare("schema", "=", marker.schema)))
    note = Update(key=SCHEMA_MARKER.key(), set=changes, remove=remove, condition=unchanged)
    try:
        await table.transact([note])
    except ConditionFailed:
        return
