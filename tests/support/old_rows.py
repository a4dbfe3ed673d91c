"""Rows as earlier releases wrote them, without the attributes that came later."""

from typing import TypeVar

from penstock.datastore.records import Resource
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.port import Exists, Table, Update

R = TypeVar("R", bound=Resource)


async def forget_references(table: Table, kind: KindDefinition[R], resource: R) -> None:
    """Remove the ids that were kept beside the formulas of a resource and of its latest version."""
    keys = (
        kind.latest.key(id=resource.id),
        kind.version.key(id=resource.id, version=resource.version),
    )
    for key in keys:
        await table.transact([Update(key=key, remove=("references",), condition=Exists())])
