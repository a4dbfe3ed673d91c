"""The ids that are kept beside formulas, for the calculations and datasets that they name.

A text that is saved is read with the names of that moment, and a text that is shown has the names
of that moment. Between the two only ids count.
"""

from penstock.datastore.access.access import Access
from penstock.datastore.records import Reference, Resource
from penstock.datastore.resources.calculation_refs import (
    CalledCalculations,
    CallOrigin,
    ReferenceKey,
)
from penstock.datastore.resources.dataset_refs import ResolvedDatasets
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import CALCULATION, REFERENCE_DATASET
from penstock.datastore.table.tombstones import is_alive
from penstock.formula.syntax.parser import is_callable_name


def saved_references(
    resource: Resource, called: CalledCalculations, datasets: ResolvedDatasets
) -> tuple[Reference, ...]:
    """The references of a resource to be saved: each name of its own formulas with its id.

    A dataset that is gone keeps its id, so that no other dataset takes its place unnoticed.
    """
    origin = CallOrigin.of(resource)
    ids: dict[ReferenceKey, str] = {}
    for (within, callee), signature in called.found.items():
        if within == origin.within:
            key = ReferenceKey.of(CALCULATION.letter, callee.name, callee.pin.group)
            ids[key] = signature.identity.rpartition(":")[0]
    for use, meant in datasets.items():
        if use.within == origin.within:
            key = ReferenceKey.of(REFERENCE_DATASET.letter, use.name, use.pin.group)
            if (id := origin.ids.get(key) if meant is None else meant.latest.id) is not None:
                ids[key] = id
    # A sort would compare groups, of which some are None.
    ordered = sorted(ids.items(), key=lambda one: (one[0].kind, one[0].name, one[0].group or ""))
    return tuple(
        Reference(kind=key.kind, name=key.name, group=key.group, id=id) for key, id in ordered
    )


async def unwritable_references(access: Access, saved: Resource) -> tuple[Reference, ...]:
    """The references whose calculation has a name by now that no formula can call.

    Formulas that call it are shown with its former name, and go on meaning it when they are saved.
    """
    called = [one for one in saved.references if one.kind == CALCULATION.letter]
    keys = {one: CALCULATION.latest.key(id=one.id) for one in called}
    rows = await read_rows(access.table, keys.values(), consistent=True)
    return tuple(
        one
        for one, key in keys.items()
        if is_alive(rows.get(key))
        and not is_callable_name(load(CALCULATION.record, rows[key], id=one.id).name)
    )
