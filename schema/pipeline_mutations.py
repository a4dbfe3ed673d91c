"""The mutations of pipelines, and the inputs that are theirs alone."""

from typing import Any

import strawberry
from strawberry import UNSET

from datastore.layout import PIPELINE
from schema.pipelines import Pipeline
from schema.resource_inputs import Change, Content, Creation, id_of, key_for
from schema.resource_mutations import creates, deletes, grants, revokes, updates
from schema.scalars import JSON
from schema.transformers import TransformerInput

_ATTRIBUTES = "An object of whatever its users keep with it."
_TRANSFORMER = "What it does with a row."


@strawberry.input(description="The pipeline to create.")
class CreatePipelineInput(Creation):
    attributes: JSON | None = strawberry.field(default=UNSET, description=_ATTRIBUTES)
    transformer: TransformerInput = strawberry.field(description=_TRANSFORMER)
    idempotency_key: strawberry.ID | None = key_for("pipeline")


@strawberry.input(description="What to change; fields left out stay, null clears.")
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


@strawberry.type
class PipelineMutation:
    create_pipeline = creates(PIPELINE, Pipeline, CreatePipelineInput, _CONTENT)
    update_pipeline = updates(PIPELINE, Pipeline, UpdatePipelineInput, _CONTENT)
    delete_pipeline = deletes(PIPELINE, Pipeline)
    grant_pipeline = grants(PIPELINE, Pipeline)
    revoke_pipeline = revokes(PIPELINE, Pipeline)
