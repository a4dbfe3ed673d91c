"""The mutations that set and remove labels of versions of any resource."""

from typing import Annotated

import strawberry

from penstock.datastore import records
from penstock.datastore.resources.version_labels.labels import MAX_LABEL, MAX_LABELS
from penstock.resolvers import resources
from penstock.schema.core.any_resource import AnyResource
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.resources.any_kind import RESOURCE_ID, find_kind


@strawberry.input(description="The version to label, and the label.")
class SetVersionLabelInput:
    id: strawberry.ID = strawberry.field(description=RESOURCE_ID)
    version: int = strawberry.field(description="The number of the version.")
    label: str = strawberry.field(
        description=f"The label, of 1 to {MAX_LABEL} characters. Labels that differ in case only "
        f"are the same. The versions of a resource have at most {MAX_LABELS}."
    )
    move: bool = strawberry.field(
        default=False,
        description="Whether another version that has the label loses it. Without, it is refused.",
    )


@strawberry.type(description="The version has the label.")
class SetVersionLabelPayload:
    resource: records.Resource = strawberry.field(
        graphql_type=AnyResource, description="The resource with its labels."
    )


SetVersionLabelResult = Annotated[
    SetVersionLabelPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "SetVersionLabelResult",
        description="The resource with its labels, or the reason why nothing changed.",
    ),
]


@strawberry.input(description="The label to remove.")
class RemoveVersionLabelInput:
    id: strawberry.ID = strawberry.field(description=RESOURCE_ID)
    label: str = strawberry.field(description="The label, on whichever version it is.")


@strawberry.type(description="No version has the label any more.")
class RemoveVersionLabelPayload:
    resource: records.Resource = strawberry.field(
        graphql_type=AnyResource, description="The resource with its other labels."
    )


RemoveVersionLabelResult = Annotated[
    RemoveVersionLabelPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "RemoveVersionLabelResult",
        description="The resource with its other labels, or the reason why nothing changed.",
    ),
]


@strawberry.type
class VersionLabelMutation:
    @strawberry.mutation(
        graphql_type=SetVersionLabelResult,
        description="Give a version of a resource a label. It makes no new version. The caller "
        "must be a contributor at the group that owns the resource.",
    )
    @staticmethod
    async def set_version_label(
        info: Info, input: InputOf[SetVersionLabelInput]
    ) -> SetVersionLabelPayload:
        kind, key = find_kind(input.id)
        loaders = info.context.loaders.of(kind)
        labelled = await resources.label(loaders, key, input.version, input.label, moves=input.move)
        return SetVersionLabelPayload(resource=labelled)

    @strawberry.mutation(
        graphql_type=RemoveVersionLabelResult,
        description="Take a label from the version that has it. The caller must be a contributor "
        "at the group that owns the resource.",
    )
    @staticmethod
    async def remove_version_label(
        info: Info, input: InputOf[RemoveVersionLabelInput]
    ) -> RemoveVersionLabelPayload:
        kind, key = find_kind(input.id)
        bare = await resources.remove_label(info.context.loaders.of(kind), key, input.label)
        return RemoveVersionLabelPayload(resource=bare)
