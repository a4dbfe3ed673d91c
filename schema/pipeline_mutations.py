"""The mutations of pipelines: inputs, results and fields."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.errors import FieldProblem
from datastore.paths import GroupPath
from datastore.records import State
from datastore.rules import MAX_DESCRIPTION, MAX_NAME
from datastore.tags import MAX_TAGS
from resolvers import pipelines
from schema.common import Info, TagInput, given
from schema.failures import (
    IllegalState,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
    VersionConflict,
)
from schema.nodes import key_of
from schema.pipelines import Pipeline
from schema.scalars import JSON
from schema.transformers import TransformerInput

_ID = "The global id of the pipeline."
_NAME = f"1 to {MAX_NAME} characters; held by none on the same line of groups."
_DESCRIPTION = f"For people; at most {MAX_DESCRIPTION} characters."
_ATTRIBUTES = "An object of whatever its users keep with it."
_TAGS = (
    f"What it is found by: at most {MAX_TAGS}, no two of the same key, and about 30 changed at "
    "once, fewer where values have levels or several groups are granted."
)
_TRANSFORMER = "What it does with a row."


@strawberry.type(description="A pipeline was created, or found by its idempotency key.")
class CreatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(graphql_type=Pipeline)


@strawberry.type(description="A new version was made.")
class UpdatePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(graphql_type=Pipeline)


@strawberry.type(description="A pipeline was deleted; `pipeline` is what it was.")
class DeletePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(graphql_type=Pipeline)


@strawberry.type(description="The group and those below it see the pipeline.")
class GrantPipelinePayload:
    pipeline: records.Pipeline = strawberry.field(graphql_type=Pipeline)
    changed: bool = strawberry.field(description="False where the group saw it before.")


@strawberry.type(description="The group's grant is gone.")
class RevokePipelinePayload:
    pipeline: records.Pipeline = strawberry.field(graphql_type=Pipeline)


CreatePipelineResult = Annotated[
    CreatePipelinePayload | NotFound | NotPermitted | ValidationProblem | NameTaken | LimitExceeded,
    strawberry.union("CreatePipelineResult", description="The new pipeline, or why there is none."),
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
        "UpdatePipelineResult", description="The new version, or why nothing changed."
    ),
]
DeletePipelineResult = Annotated[
    DeletePipelinePayload | NotFound | NotPermitted | VersionConflict,
    strawberry.union(
        "DeletePipelineResult", description="The pipeline that was, or why it still is."
    ),
]
GrantPipelineResult = Annotated[
    GrantPipelinePayload | NotFound | NotPermitted | NameTaken | LimitExceeded,
    strawberry.union(
        "GrantPipelineResult", description="The pipeline with the grant, or why nothing changed."
    ),
]
RevokePipelineResult = Annotated[
    RevokePipelinePayload | NotFound | NotPermitted | LimitExceeded | IllegalState,
    strawberry.union(
        "RevokePipelineResult",
        description="The pipeline without the grant, or why nothing changed.",
    ),
]


def _attributes(value: object) -> dict[str, Any] | None:
    """The record keeps an object, where the scalar allows any JSON value."""
    return value if isinstance(value, dict) else None


def _attribute_problems(value: object) -> list[FieldProblem]:
    if value is None or isinstance(value, dict):
        return []
    return [FieldProblem(["attributes"], "must be an object")]


@strawberry.input(description="The pipeline to create.")
class CreatePipelineInput:
    group: GroupPath | None = strawberry.field(
        default=UNSET, description="The owner; the caller's default group if left out."
    )
    name: str = strawberry.field(description=_NAME)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    transformer: TransformerInput = strawberry.field(description=_TRANSFORMER)
    idempotency_key: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The same key with the same input within a day gives the same pipeline.",
    )

    def content(self) -> dict[str, Any]:
        """The fields of a pipeline that a user gives."""
        return {
            "name": self.name.strip(),
            "description": given(self.description),
            "attributes": _attributes(given(self.attributes)),
            "tags": tuple(tag.record() for tag in given(self.tags) or ()),
            "transformer": self.transformer.record(),
        }

    def problems(self) -> list[FieldProblem]:
        """What is wrong that the content cannot show."""
        return _attribute_problems(given(self.attributes))


@strawberry.input(description="What to change; fields left out stay, null clears.")
class UpdatePipelineInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    expected_version: int = strawberry.field(description="The version the changes are based on.")
    name: str | None = strawberry.field(default=UNSET, description=_NAME)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    transformer: TransformerInput | None = strawberry.field(default=UNSET, description=_TRANSFORMER)
    state: State | None = strawberry.field(
        default=UNSET, description="While it is not enabled, nothing else can change."
    )

    def changes(self) -> dict[str, Any]:
        """The fields that were given, but for a null where there must be a value."""
        fields = ("name", "description", "attributes", "tags", "transformer", "state")
        found = {name: getattr(self, name) for name in fields}
        found = {name: value for name, value in found.items() if value is not UNSET}
        for name in self._nulls():
            del found[name]
        if "name" in found:
            found["name"] = found["name"].strip()
        if "attributes" in found:
            found["attributes"] = _attributes(found["attributes"])
        if "tags" in found:
            found["tags"] = tuple(tag.record() for tag in found["tags"] or ())
        if "transformer" in found:
            found["transformer"] = found["transformer"].record()
        return found

    def problems(self) -> list[FieldProblem]:
        """What is wrong that the changes cannot show."""
        nulls = [FieldProblem([name], "must not be null") for name in self._nulls()]
        return nulls + _attribute_problems(given(self.attributes))

    def _nulls(self) -> list[str]:
        return [name for name in ("name", "transformer", "state") if getattr(self, name) is None]


@strawberry.input(description="The pipeline to delete.")
class DeletePipelineInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    expected_version: int | None = strawberry.field(
        default=UNSET, description="If given, the version that must be the current one."
    )


@strawberry.input(description="What to grant to whom.")
class GrantPipelineInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    group: GroupPath = strawberry.field(description="The group that is to see it.")


@strawberry.input(description="What to revoke from whom.")
class RevokePipelineInput:
    id: strawberry.ID = strawberry.field(description=_ID)
    group: GroupPath = strawberry.field(description="The group that has the grant itself.")


@strawberry.type
class PipelineMutation:
    @strawberry.mutation(
        graphql_type=CreatePipelineResult,
        description="Create a pipeline; the caller is contributor at the group.",
    )
    @staticmethod
    async def create_pipeline(info: Info, input: CreatePipelineInput) -> CreatePipelinePayload:
        created = await pipelines.create(
            info.context,
            given(input.group),
            input.content(),
            given(input.idempotency_key),
            input.problems(),
        )
        return CreatePipelinePayload(pipeline=created)

    @strawberry.mutation(
        graphql_type=UpdatePipelineResult,
        description="Make a new version; the caller is contributor at the owner group.",
    )
    @staticmethod
    async def update_pipeline(info: Info, input: UpdatePipelineInput) -> UpdatePipelinePayload:
        id = key_of("Pipeline", input.id)
        updated = await pipelines.update(
            info.context, id, input.expected_version, input.changes(), input.problems()
        )
        return UpdatePipelinePayload(pipeline=updated)

    @strawberry.mutation(
        graphql_type=DeletePipelineResult,
        description="Delete a pipeline and its versions; the caller is admin at the owner group.",
    )
    @staticmethod
    async def delete_pipeline(info: Info, input: DeletePipelineInput) -> DeletePipelinePayload:
        id = key_of("Pipeline", input.id)
        deleted = await pipelines.delete(info.context, id, given(input.expected_version))
        return DeletePipelinePayload(pipeline=deleted)

    @strawberry.mutation(
        graphql_type=GrantPipelineResult,
        description="Let a group and those below see and run a pipeline; the caller is admin at "
        "both groups. A grant to an ancestor takes the place of those below it.",
    )
    @staticmethod
    async def grant_pipeline(info: Info, input: GrantPipelineInput) -> GrantPipelinePayload:
        id = key_of("Pipeline", input.id)
        granted, changed = await pipelines.grant(info.context, id, input.group)
        return GrantPipelinePayload(pipeline=granted, changed=changed)

    @strawberry.mutation(
        graphql_type=RevokePipelineResult,
        description="Take a group's own grant away; the caller is admin at the owner group. The "
        "owner keeps sight: a grant above it narrows to the owner's own.",
    )
    @staticmethod
    async def revoke_pipeline(info: Info, input: RevokePipelineInput) -> RevokePipelinePayload:
        id = key_of("Pipeline", input.id)
        return RevokePipelinePayload(pipeline=await pipelines.revoke(info.context, id, input.group))
