"""The fields that list who uses a resource, and what a resource uses."""

from functools import partial
from typing import Any

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.table.items import Projection
from penstock.datastore.table.layout import KindDefinition
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.schema.core.any_resource import AnyResource
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.resources.resource import RESOURCE_TYPES


@strawberry.type
class HasUses:
    """The resources that one uses; not a type of the schema itself."""

    @strawberry.field(
        graphql_type=Connection[AnyResource],
        description=(
            "The resources that the formulas of the latest version name, or that a metric is made "
            "of: each once, as far as the caller sees them."
        ),
    )
    @reads_attributes(dict.fromkeys(("Pipeline", "Calculation", "Metric"), ("id", "references")))
    @staticmethod
    async def uses(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Resource]:
        return await read_connection(
            info,
            ("uses", resource.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.uses.list_used(
                resource, window, partial(_projection, info)
            ),
        )


@strawberry.type
class HasUsers:
    """The resources that use one; not a type of the schema itself."""

    @strawberry.field(
        graphql_type=Connection[AnyResource],
        description=(
            "The resources whose latest versions name this one in a formula, or as the input of a "
            "metric: each once, as far as the caller sees them."
        ),
    )
    @reads_attributes(dict.fromkeys(RESOURCE_TYPES, ("id",)))
    @staticmethod
    async def used_by(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Resource]:
        return await read_connection(
            info,
            ("usedBy", resource.id),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.uses.list_users(
                resource, window, partial(_projection, info)
            ),
        )


def _projection(info: Info, kind: KindDefinition[Any]) -> Projection:
    return projected_attributes(info, kind.title)
