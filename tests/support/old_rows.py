"""Rows as earlier releases wrote them, without the attributes that came later."""

from typing import TypeVar

from msgspec.structs import replace

from penstock.datastore.audio.derived_rows import track_rows
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import audio_key
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.records import Resource
from penstock.datastore.resources.derived_rows import derive_rows
from penstock.datastore.resources.use_rows import use_rows, use_writes
from penstock.datastore.table.commit import Write, commit
from penstock.datastore.table.layout import LISTED, KindDefinition
from penstock.datastore.table.port import INDEX_HASH, Delete, Exists, Operation, Table, Update

R = TypeVar("R", bound=Resource)


async def forget_references(table: Table, kind: KindDefinition[R], resource: R) -> None:
    """Remove the ids that were kept beside the formulas of a resource and of its latest version."""
    await forget_uses(table, kind, resource)
    keys = (
        kind.latest.key(id=resource.id),
        kind.version.key(id=resource.id, version=resource.version),
    )
    for key in keys:
        await table.transact([Update(key=key, remove=("references",), condition=Exists())])


async def forget_uses(table: Table, kind: KindDefinition[R], resource: R) -> None:
    """Remove what lists a resource under what it uses, which releases before did not write."""
    plain = Update(key=kind.latest.key(id=resource.id), remove=("linked",), condition=Exists())
    rows = map(Delete, use_rows(kind.letter, resource))
    await commit(table, [Write(plain), *map(Write, rows), *use_writes(resource, None)])


async def list_whole_row(
    table: Table, kind: KindDefinition[R], id: str, *, keep_small: bool = False
) -> None:
    """Put the latest row itself into the list of its kind, as releases did before the small rows.

    With `keep_small` such a release has written the row of a resource that has a small one.
    """
    partition = LISTED.index_partition(kind=kind.letter)
    whole = Update(key=kind.latest.key(id=id), set={INDEX_HASH: partition}, condition=Exists())
    small = () if keep_small else (Delete(LISTED.key(kind=kind.letter, id=id)),)
    await table.transact([whole, *small])


async def forget_words(table: Table, kind: KindDefinition[R], resource: R) -> None:
    """Remove what finds a resource by words of its name, which releases before did not write."""
    rows = derive_rows(kind.letter, resource)
    grants = [Update(key=key, remove=("name",)) for key in rows.items if key.sk.startswith("G:")]
    plain = Update(key=kind.latest.key(id=resource.id), remove=("named",), condition=Exists())
    operations: list[Operation] = [plain, *grants, *map(Delete, rows.words)]
    for operation in operations:
        await table.transact([operation])


async def forget_title(table: Table, track: Audio) -> None:
    """Remove what finds a track by words of its title, which releases before did not write."""
    plain = Update(key=audio_key(track.owner, track.id), remove=("named",), condition=Exists())
    words = track_rows(track).items.keys() - track_rows(replace(track, named=False)).items.keys()
    await table.transact([plain, *map(Delete, words)])


async def unlist_execution(table: Table, execution: Execution, *without: str) -> None:
    """Take an execution out of the lists of its group, as releases before these lists wrote it.

    `without` are further attributes that its release did not write.
    """
    plain = Update(
        key=key_of_execution(execution.id), remove=("listed", *without), condition=Exists()
    )
    await table.transact([plain, *map(Delete, list_items(execution))])


async def forget_row_groups(table: Table, execution: Execution, *names: str) -> None:
    """Remove what an execution notes of the rows that it keeps, as earlier releases did not."""
    key = key_of_execution(execution.id)
    await table.transact([Update(key=key, remove=("rowGroups", *names), condition=Exists())])
