"""The mutation that makes an earlier version of any resource the newest."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.resolvers import resources
from penstock.schema.core.any_resource import AnyResource
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    QuotaExceeded,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.scalars import DateTime
from penstock.schema.resources.any_kind import RESOURCE_ID, find_kind


@strawberry.input(description="The version to restore.")
class RestoreVersionInput:
    id: strawberry.ID = strawberry.field(description=RESOURCE_ID)
    version: int | None = strawberry.field(
        default=UNSET,
        description="The number of the version to restore. Give either this or `label`.",
    )
    label: str | None = strawberry.field(
        default=UNSET, description="A label of the version to restore."
    )
    expected_version: int = strawberry.field(
        description="The number of the current version. If another number is given, nothing "
        "changes."
    )
    active_from: DateTime | None = strawberry.field(
        default=UNSET,
        description="The time from which on the new version is active. The default is now.",
    )


@strawberry.type(description="A new version was created with the content of an earlier one.")
class RestoreVersionPayload:
    resource: records.Resource = strawberry.field(
        graphql_type=AnyResource, description="The resource with its new version."
    )


RestoreVersionResult = Annotated[
    RestoreVersionPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "RestoreVersionResult",
        description="The resource with its new version, or the reason why nothing changed.",
    ),
]


@strawberry.type
class RestoreMutation:
    @strawberry.mutation(
        graphql_type=RestoreVersionResult,
        description=(
            "Create a new version of a resource with the name, description, tags and content of an "
            "earlier one. What it names is what that version named. State and grants stay. The "
            "caller must be a contributor at the group that owns the resource."
        ),
    )
    @staticmethod
    async def restore_version(
        info: Info, input: InputOf[RestoreVersionInput]
    ) -> RestoreVersionPayload:
        kind, key = find_kind(input.id)
        loaders = info.context.loaders.of(kind)
        named = VersionName(unset_to_none(input.version), unset_to_none(input.label))
        start = unset_to_none(input.active_from)
        restored = await resources.restore(loaders, key, named, input.expected_version, start)
        return RestoreVersionPayload(resource=restored)
