"""The dataset that a pipeline writes, and the reference by which that lists the pipeline.

A pipeline uses the dataset that it writes, so that nobody deletes it unaware. Whether somebody may
write it is decided when an execution is created and started.
"""

from collections.abc import Sequence
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, NotFound
from penstock.datastore.records import (
    DatasetTarget,
    Pipeline,
    Reference,
    ReferenceDataset,
    Resource,
)
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.table.layout import REFERENCE_DATASET

_PATH: Final = ("transformer", "dataset")


def refers_to_target(one: Reference, target: DatasetTarget) -> bool:
    """Whether a reference is the one to a dataset that is written."""
    return (one.kind, one.name, one.id) == (REFERENCE_DATASET.letter, "", target.id)


async def check_target(
    access: Access, resource: Resource
) -> tuple[Sequence[Reference], Sequence[FieldProblem]]:
    """Find the reference of a pipeline to the dataset that it writes, or a problem with it.

    Whoever names the dataset anew must see it.
    """
    target = resource.transformer.dataset if isinstance(resource, Pipeline) else None
    if target is None:
        return (), ()
    reference = Reference(kind=REFERENCE_DATASET.letter, name="", id=target.id)
    if not any(refers_to_target(one, target) for one in resource.references):
        (found,) = await ResourceReader(REFERENCE_DATASET, access).many([target.id])
        if isinstance(found, NotFound):
            message = "there is no such reference dataset"
            return (), [FieldProblem([*_PATH, "id"], message, "UNKNOWN_DATASET")]
    return (reference,), ()


async def read_target(access: Access, target: DatasetTarget) -> ReferenceDataset:
    """Read the dataset that an execution is to write; raises NotFound if it is out of sight."""
    return await ResourceReader(REFERENCE_DATASET, access).one(target.id)
