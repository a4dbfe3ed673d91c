"""The ids beside the formulas of resources that releases before saved without them."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import ExpectedFailure
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.records import Reference, Resource
from penstock.datastore.resources.calculation_refs import CallOrigin, read_callees
from penstock.datastore.resources.dataset_refs import find_dataset_uses, resolve_uses
from penstock.datastore.resources.formula_references import saved_references
from penstock.datastore.table.commit import StaleRead, Write, commit
from penstock.datastore.table.items import load, read_or_report, resource_id
from penstock.datastore.table.layout import CALCULATION, PIPELINE, KindDefinition
from penstock.datastore.table.port import Attributes, Compare, Exists, Update
from penstock.datastore.upgrades.resource_pages import change_resources


async def keep_formula_ids(
    access: Access, after: str | None
) -> AsyncIterator[tuple[str, int, int]]:
    """Give every formula the ids of what its names mean now; yield each page that is done.

    A page is its last resource (letter and id), and the numbers of resources examined and changed.
    A name that means nothing keeps no id, so a later resource of this name can take its place.
    """
    async for page in change_resources(access, (CALCULATION, PIPELINE), after, _keep_ids):
        yield page


async def _keep_ids(access: Access, kind: KindDefinition[Any], row: Attributes) -> bool:
    """Keep the ids of one resource; return whether it had none and has some now."""
    read = partial(load, kind.record, id=resource_id(row))
    resource = read_or_report(read, row)
    if not isinstance(resource, Resource) or resource.references:
        return False
    try:
        references = await _find_references(access, kind, resource)
        if not references:
            return False
        await commit(access.table, _writes(kind, resource, references))
    except (ExpectedFailure, StaleRead):
        # Who writes it meanwhile keeps its ids; what calls too much cannot run anyway.
        return False
    return True


async def _find_references(
    access: Access, kind: KindDefinition[Any], resource: Resource
) -> tuple[Reference, ...]:
    formulas = kind.formulas(resource)
    called = await read_callees(access, resource, formulas)
    within = CallOrigin.of(resource).within
    find = partial(find_dataset_uses, [(within, text) for text in formulas])
    datasets = await resolve_uses(access, called, await run_in_formula_thread(find))
    return saved_references(resource, called, datasets)


def _writes(
    kind: KindDefinition[Any], resource: Resource, references: tuple[Reference, ...]
) -> list[Write]:
    """The writes of the ids into the latest row and that of its version, if nobody wrote since."""
    kept = {"references": msgspec.to_builtins(list(references))}
    latest, version = (
        kind.latest.key(id=resource.id),
        kind.version.key(id=resource.id, version=resource.version),
    )
    unchanged = Compare("revision", "=", resource.revision)
    return [
        Write(Update(key=latest, set=kept, add={"revision": 1}, condition=unchanged)),
        Write(Update(key=version, set=kept, condition=Exists())),
    ]
