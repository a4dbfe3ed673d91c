"""The changes between two versions of a resource, of whatever kind."""

from typing import Annotated, Final, TypeAlias

import strawberry

from penstock.datastore.resources.differences import MAX_CHANGES, Operation
from penstock.schema.scalars import JSON

strawberry.enum(
    Operation,
    name="ChangeOperation",
    description="What happened to a value, as JSON Patch (RFC 6902) calls it.",
)


@strawberry.type(description="A value that differs between two versions.")
class Change:
    op: Operation = strawberry.field(description="What happened to it.")
    path: str = strawberry.field(
        description="Where it is in the content: a JSON pointer (RFC 6901) like "
        "`/transformer/transforms/0/formula`."
    )
    before: JSON | None = strawberry.field(description="What it was; null for what was added.")
    after: JSON | None = strawberry.field(description="What it is; null for what is gone.")


FromVersion: TypeAlias = Annotated[
    int, strawberry.argument(name="from", description="The number of the one version.")
]
ToVersion: TypeAlias = Annotated[
    int, strawberry.argument(description="The number of the other version.")
]

DIFF: Final = (
    "The changes that turn the content of one version into that of another, in the order of the "
    "fields. Entries of lists are compared by their places. A field with more than "
    f"{MAX_CHANGES} changes is shown as one change."
)
