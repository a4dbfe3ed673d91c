"""The mutations of pipelines with their inputs, payloads and results."""

from typing import Annotated, Any, get_args

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import PIPELINE
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    InUse,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    QuotaExceeded,
    ValidationProblem,
    VersionConflict,
    settle_failure,
)
from penstock.schema.core.relay import parse_key
from penstock.schema.core.scalars import JSON
from penstock.schema.engine.cost import price_metadata
from penstock.schema.pipelines.pipelines import Pipeline
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
)
from penstock.schema.resources.mutations import (
    CHANGED_DESCRIPTION,
    GRANT_RULES,
    REVOKE_RULES,
    create_resource,
    create_resources,
    delete_resource,
    grant_resource,
    revoke_resource,
    update_resource,
)
from penstock.schema.resources.transformers import TransformerInput

_ATTRIBUTES = "A JSON object with further values that users keep with the pipeline."
_TRANSFORMER = "The parameters and formulas that turn an input row into an output row."


@strawberry.input(description="The pipeline to create.")
class CreatePipelineInput(CreateResourceInput):
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    transformer: TransformerInput = strawberry.field(description=_TRANSFORMER)
    idempotency_key: strawberry.ID | None = idempotency_key_field("pipeline")


@strawberry.input(
    description=(
        "The changes to make to a pipeline. A field that is left out keeps its value, "
        "and null clears the value."
    )
)
class UpdatePipelineInput(UpdateResourceInput):
    id: strawberry.ID = id_field("pipeline")
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    transformer: TransformerInput | None = strawberry.field(default=UNSET, description=_TRANSFORMER)


def _object_or_none(value: object) -> dict[str, Any] | None:
    """Return the value if it is an object; the scalar allows any JSON value."""
    return value if isinstance(value, dict) else None


def _attribute_problem(value: object) -> str | None:
    return None if value is None or isinstance(value, dict) else "must be an object"


_CONTENT_READER = ContentReader(
    {"attributes": _object_or_none, "transformer": TransformerInput.record},
    ("transformer",),
    {"attributes": _attribute_problem},
)


async def _keep_timestamps(info: Info, input: UpdatePipelineInput) -> None:
    """Let an update that names no form of timestamps leave it as it is.

    Clients of earlier releases name none, and their users read the files as they were. If another
    update comes between, the expected version is no longer the latest.
    """
    given = unset_to_none(input.transformer)
    if given is None or given.timestamps or not given.record().has_timestamps:
        return
    pipelines = info.context.loaders.of(PIPELINE)
    standing = (await pipelines.latest(parse_key(PIPELINE.title, input.id))).transformer
    if standing.has_timestamps:
        given.timestamps = standing.timestamps


@strawberry.input(description="The pipeline to delete.")
class DeletePipelineInput(DeleteResourceInput):
    id: strawberry.ID = id_field("pipeline")


@strawberry.input(description="The pipeline to share and the group to share it with.")
class GrantPipelineInput:
    id: strawberry.ID = id_field("pipeline")
    group: GroupPath = strawberry.field(
        description="The path of the group that gains access, together with all groups below it."
    )


@strawberry.input(description="The pipeline and the group that loses its grant.")
class RevokePipelineInput:
    id: strawberry.ID = id_field("pipeline")
    group: GroupPath = strawberry.field(
        description=(
            "The path of the group whose own grant is removed. A grant that the group "
            "inherits stays."
        )
    )


@strawberry.type(description="The pipeline was created, or found by its idempotency key.")
class CreatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline that was created or found."
    )


@strawberry.type(description="A new version of the pipeline was created.")
class UpdatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline with its new version."
    )


@strawberry.type(description="The pipeline and all its versions were deleted.")
class DeletePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline as it was before it was deleted."
    )


@strawberry.type(description="The group and all groups below it have access to the pipeline.")
class GrantPipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED_DESCRIPTION)


@strawberry.type(description="The group no longer has a grant of its own for the pipeline.")
class RevokePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline without the grant."
    )


CreatePipelineResult = Annotated[
    CreatePipelinePayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "CreatePipelineResult",
        description="The new pipeline, or the reason why none was created.",
    ),
]
_CREATE_MEMBERS = get_args(get_args(CreatePipelineResult)[0])
UpdatePipelineResult = Annotated[
    UpdatePipelinePayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "UpdatePipelineResult",
        description="The pipeline with its new version, or the reason why nothing changed.",
    ),
]
DeletePipelineResult = Annotated[
    DeletePipelinePayload | NotFound | NotPermitted | InUse | VersionConflict,
    strawberry.union(
        "DeletePipelineResult",
        description="The deleted pipeline, or the reason why it was not deleted.",
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
        description="Create a pipeline. The caller must be a contributor at its group.",
    )
    @staticmethod
    async def create_pipeline(
        info: Info, input: InputOf[CreatePipelineInput]
    ) -> CreatePipelinePayload:
        key = input.idempotency_key
        created = await create_resource(info, PIPELINE, _CONTENT_READER, input, key)
        return CreatePipelinePayload(pipeline=created)

    @strawberry.mutation(
        graphql_type=list[CreatePipelineResult | None],
        description=(
            "Create up to 100 pipelines. Each input has a result of its own, in the same order: a "
            "failure of one does not stop the others. Inputs with the same name are created in no "
            "fixed order. A result is null if an error of the store stopped it; whether the "
            "pipeline exists is then unknown, and an idempotency key makes it safe to try again."
        ),
        metadata=price_metadata(1, sized_by="inputs"),
    )
    @staticmethod
    async def create_pipelines(
        info: Info,
        inputs: Annotated[
            list[CreatePipelineInput],
            strawberry.argument(description="The pipelines to create, at most 100."),
        ],
    ) -> list[object]:
        keyed = [(input, input.idempotency_key) for input in inputs]
        created = await create_resources(info, PIPELINE, _CONTENT_READER, keyed)
        return [
            settle_failure(one, _CREATE_MEMBERS, info)
            if isinstance(one, Exception)
            else CreatePipelinePayload(pipeline=one)
            for one in created
        ]

    @strawberry.mutation(
        graphql_type=UpdatePipelineResult,
        description=(
            "Create a new version of a pipeline. The caller must be a contributor at the "
            "group that owns the pipeline."
        ),
    )
    @staticmethod
    async def update_pipeline(
        info: Info, input: InputOf[UpdatePipelineInput]
    ) -> UpdatePipelinePayload:
        await _keep_timestamps(info, input)
        updated = await update_resource(info, PIPELINE, _CONTENT_READER, input, input.id)
        return UpdatePipelinePayload(pipeline=updated)

    @strawberry.mutation(
        graphql_type=DeletePipelineResult,
        description=(
            "Delete a pipeline with all its versions, unless others use it. The caller must be an "
            "admin at the group that owns the pipeline."
        ),
    )
    @staticmethod
    async def delete_pipeline(
        info: Info, input: InputOf[DeletePipelineInput]
    ) -> DeletePipelinePayload:
        deleted = await delete_resource(info, PIPELINE, input, input.id)
        return DeletePipelinePayload(pipeline=deleted)

    @strawberry.mutation(
        graphql_type=GrantPipelineResult,
        description=f"Let a group and all groups below it see and use a pipeline. {GRANT_RULES}",
    )
    @staticmethod
    async def grant_pipeline(
        info: Info, input: InputOf[GrantPipelineInput]
    ) -> GrantPipelinePayload:
        granted, changed = await grant_resource(info, PIPELINE, input.id, input.group)
        return GrantPipelinePayload(pipeline=granted, changed=changed)

    @strawberry.mutation(
        graphql_type=RevokePipelineResult,
        description=f"Remove the grant that a group itself has for a pipeline. {REVOKE_RULES}",
    )
    @staticmethod
    async def revoke_pipeline(
        info: Info, input: InputOf[RevokePipelineInput]
    ) -> RevokePipelinePayload:
        revoked = await revoke_resource(info, PIPELINE, input.id, input.group)
        return RevokePipelinePayload(pipeline=revoked)
