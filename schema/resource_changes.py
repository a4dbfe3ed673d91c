"""What differs between two versions of a resource, of whatever kind."""

from typing import Annotated, Any, TypeVar, cast

import strawberry

from datastore import records
from datastore.layout import Kind
from datastore.resources import differences
from datastore.resources.differences import MAX_CHANGES, Operation
from resolvers import resources
from schema.common import Info
from schema.prices import costs
from schema.scalars import JSON

R = TypeVar("R", bound=records.Resource)

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


def diff_of(kind: Kind[R]) -> Any:
    """Make the field that compares two versions."""

    async def diff(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        from_: Annotated[
            int, strawberry.argument(name="from", description="The number of the one version.")
        ],
        to: Annotated[int, strawberry.argument(description="The number of the other version.")],
    ) -> list[differences.Change]:
        desk = info.context.desk(kind)
        return await resources.diff(desk, cast("R", resource), from_, to)

    return strawberry.field(
        resolver=diff,
        graphql_type=list[Change] | None,
        metadata=costs(2),
        description="What turns the content of one version into that of another, in the order of "
        "the fields; entries of lists are compared by their places. A field with more than "
        f"{MAX_CHANGES} changes is told as one.",
    )
