"""The mutations of pipelines with their inputs, payloads and results."""

from typing import Annotated, Any, get_args

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.table.layout import PIPELINE
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.failures import settle_failure
from penstock.schema.core.relay import parse_key
from penstock.schema.core.scalars import JSON
from penstock.schema.engine.cost import price_metadata
from penstock.schema.pipelines.pipelines import Pipeline
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    GrantResourceInput,
    RevokeResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
)
from penstock.schema.resources.kind_mutations import (
    CHANGED_DESCRIPTION,
    CreateFailure,
    DeleteFailure,
    GrantFailure,
    RevokeFailure,
    UpdateFailure,
    create_mutation,
    create_resources,
    delete_mutation,
    grant_mutation,
    revoke_mutation,
    update_mutation,
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
class GrantPipelineInput(GrantResourceInput):
    id: strawberry.ID = id_field("pipeline")


@strawberry.input(description="The pipeline and the group that loses its grant.")
class RevokePipelineInput(RevokeResourceInput):
    id: strawberry.ID = id_field("pipeline")


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
    CreatePipelinePayload | CreateFailure,
    strawberry.union(
        "CreatePipelineResult", description="The new pipeline, or the reason why none was created."
    ),
]
_CREATE_MEMBERS = get_args(get_args(CreatePipelineResult)[0])
UpdatePipelineResult = Annotated[
    UpdatePipelinePayload | UpdateFailure,
    strawberry.union(
        "UpdatePipelineResult",
        description="The pipeline with its new version, or the reason why nothing changed.",
    ),
]
DeletePipelineResult = Annotated[
    DeletePipelinePayload | DeleteFailure,
    strawberry.union(
        "DeletePipelineResult",
        description="The deleted pipeline, or the reason why it was not deleted.",
    ),
]
GrantPipelineResult = Annotated[
    GrantPipelinePayload | GrantFailure,
    strawberry.union(
        "GrantPipelineResult",
        description="The pipeline with the grant, or the reason why nothing changed.",
    ),
]
RevokePipelineResult = Annotated[
    RevokePipelinePayload | RevokeFailure,
    strawberry.union(
        "RevokePipelineResult",
        description="The pipeline without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class PipelineMutation:
    create_pipeline = create_mutation(
        PIPELINE,
        CreatePipelineInput,
        CreatePipelineResult,
        _CONTENT_READER,
        lambda created: CreatePipelinePayload(pipeline=created),
    )

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
        created = await create_resources(info, PIPELINE, _CONTENT_READER, inputs)
        return [
            settle_failure(one, _CREATE_MEMBERS, info)
            if isinstance(one, Exception)
            else CreatePipelinePayload(pipeline=one)
            for one in created
        ]

    update_pipeline = update_mutation(
        PIPELINE,
        UpdatePipelineInput,
        UpdatePipelineResult,
        _CONTENT_READER,
        lambda updated: UpdatePipelinePayload(pipeline=updated),
        _keep_timestamps,
    )
    delete_pipeline = delete_mutation(
        PIPELINE,
        DeletePipelineInput,
        DeletePipelineResult,
        lambda deleted: DeletePipelinePayload(pipeline=deleted),
    )
    grant_pipeline = grant_mutation(
        PIPELINE,
        GrantPipelineInput,
        GrantPipelineResult,
        lambda granted, changed: GrantPipelinePayload(pipeline=granted, changed=changed),
    )
    revoke_pipeline = revoke_mutation(
        PIPELINE,
        RevokePipelineInput,
        RevokePipelineResult,
        lambda revoked: RevokePipelinePayload(pipeline=revoked),
    )
