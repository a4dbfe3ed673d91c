"""The mutations of pipelines, and the inputs that are theirs alone."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import PIPELINE
from penstock.schema.core.context import Info
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.scalars import JSON
from penstock.schema.pipelines.pipelines import Pipeline
from penstock.schema.resources.inputs import Change, Content, Creation, id_of, key_for
from penstock.schema.resources.mutations import (
    CHANGED,
    EXPECTED_VERSION,
    GRANT,
    REVOKE,
    create_resource,
    delete_resource,
    grant_resource,
    revoke_resource,
    update_resource,
)
from penstock.schema.resources.transformers import TransformerInput

_ATTRIBUTES = "An object of whatever its users keep with it."
_TRANSFORMER = "What it does with a row."


@strawberry.input(description="Describes the pipeline to create.")
class CreatePipelineInput(Creation):
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    transformer: TransformerInput = strawberry.field(description=_TRANSFORMER)
    idempotency_key: strawberry.ID | None = key_for("pipeline")


@strawberry.input(
    description="Names the pipeline and what to change. A field that is left out keeps its "
    "value, and null clears it."
)
class UpdatePipelineInput(Change):
    id: strawberry.ID = id_of("pipeline")
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    transformer: TransformerInput | None = strawberry.field(default=UNSET, description=_TRANSFORMER)


def _attributes(value: object) -> dict[str, Any] | None:
    """The record keeps an object, where the scalar allows any JSON value."""
    return value if isinstance(value, dict) else None


def _attribute_problem(value: object) -> str | None:
    return None if value is None or isinstance(value, dict) else "must be an object"


_CONTENT = Content(
    {"attributes": _attributes, "transformer": TransformerInput.record},
    ("transformer",),
    {"attributes": _attribute_problem},
)


@strawberry.input(description="Names the pipeline to delete.")
class DeletePipelineInput:
    id: strawberry.ID = id_of("pipeline")
    expected_version: int | None = strawberry.field(default=UNSET, description=EXPECTED_VERSION)


@strawberry.input(description="Names the pipeline to share and the group to share it with.")
class GrantPipelineInput:
    id: strawberry.ID = id_of("pipeline")
    group: GroupPath = strawberry.field(description="The group that gains access.")


@strawberry.input(description="Names the pipeline and the group that loses its grant.")
class RevokePipelineInput:
    id: strawberry.ID = id_of("pipeline")
    group: GroupPath = strawberry.field(description="The group that has the grant itself.")


@strawberry.type(description="The pipeline was created, or found by its idempotency key.")
class CreatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline that was created or found."
    )


@strawberry.type(description="A new version of the pipeline was made.")
class UpdatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline with its new version."
    )


@strawberry.type(description="The pipeline and all its versions were deleted.")
class DeletePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline as it was before."
    )


@strawberry.type(description="The group and all groups below it have access to the pipeline.")
class GrantPipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED)


@strawberry.type(description="The group no longer has a grant of its own.")
class RevokePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline without the grant."
    )


CreatePipelineResult = Annotated[
    CreatePipelinePayload | NotFound | NotPermitted | ValidationProblem | NameTaken | LimitExceeded,
    strawberry.union(
        "CreatePipelineResult", description="The new pipeline, or the reason why there is none."
    ),
]
UpdatePipelineResult = Annotated[
    UpdatePipelinePayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "UpdatePipelineResult", description="The new version, or the reason why nothing changed."
    ),
]
DeletePipelineResult = Annotated[
    DeletePipelinePayload | NotFound | NotPermitted | VersionConflict,
    strawberry.union(
        "DeletePipelineResult",
        description="The deleted pipeline, or the reason why it is still there.",
    ),
]
GrantPipelineResult = Annotated[
    GrantPipelinePayload | NotFound | NotPermitted | NameTaken | LimitExceeded,
    strawberry.union(
        "GrantPipelineResult",
        description="The pipeline with the grant, or the reason why nothing changed.",
    ),
]
RevokePipelineResult = Annotated[
    RevokePipelinePayload | NotFound | NotPermitted | LimitExceeded | IllegalState,
    strawberry.union(
        "RevokePipelineResult",
        description="The pipeline without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class PipelineMutation:
    @strawberry.mutation(
        graphql_type=CreatePipelineResult,
        description="Create a pipeline. The caller is contributor at its group.",
    )
    @staticmethod
    async def create_pipeline(info: Info, input: CreatePipelineInput) -> CreatePipelinePayload:
        key = input.idempotency_key
        created = await create_resource(info, PIPELINE, _CONTENT, input, key)
        return CreatePipelinePayload(pipeline=created)

    @strawberry.mutation(
        graphql_type=UpdatePipelineResult,
        description="Make a new version of a pipeline. The caller is contributor at the owner "
        "group.",
    )
    @staticmethod
    async def update_pipeline(info: Info, input: UpdatePipelineInput) -> UpdatePipelinePayload:
        updated = await update_resource(info, PIPELINE, _CONTENT, input, input.id)
        return UpdatePipelinePayload(pipeline=updated)

    @strawberry.mutation(
        graphql_type=DeletePipelineResult,
        description="Delete a pipeline with all its versions. The caller is admin at the owner "
        "group.",
    )
    @staticmethod
    async def delete_pipeline(info: Info, input: DeletePipelineInput) -> DeletePipelinePayload:
        deleted = await delete_resource(info, PIPELINE, input.id, input.expected_version)
        return DeletePipelinePayload(pipeline=deleted)

    @strawberry.mutation(
        graphql_type=GrantPipelineResult,
        description=f"Let a group and all groups below it see and use a pipeline. {GRANT}",
    )
    @staticmethod
    async def grant_pipeline(info: Info, input: GrantPipelineInput) -> GrantPipelinePayload:
        granted, changed = await grant_resource(info, PIPELINE, input.id, input.group)
        return GrantPipelinePayload(pipeline=granted, changed=changed)

    @strawberry.mutation(
        graphql_type=RevokePipelineResult,
        description=f"Revoke the grant that a group itself has for a pipeline. {REVOKE}",
    )
    @staticmethod
    async def revoke_pipeline(info: Info, input: RevokePipelineInput) -> RevokePipelinePayload:
        revoked = await revoke_resource(info, PIPELINE, input.id, input.group)
        return RevokePipelinePayload(pipeline=revoked)
