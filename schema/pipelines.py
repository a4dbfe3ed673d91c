"""Pipelines and their versions: types and query fields."""

from typing import Annotated

import strawberry

from datastore import records
from datastore.layout import PIPELINE
from schema.nodes import shows
from schema.pipeline_executions import HasExecutions
from schema.resource_changes import diff_of
from schema.resource_queries import by_id, by_name, listed
from schema.resources import (
    Resource,
    ResourceVersion,
    latest_of,
    version_numbered,
    versions_of,
)
from schema.scalars import JSON
from schema.transformers import Transformer

_VERSION = Annotated["PipelineVersion", strawberry.lazy("schema.pipelines")]


@strawberry.type(description="A pipeline: how input rows become output rows. Its latest version.")
class Pipeline(Resource, HasExecutions):
    attributes: JSON | None = strawberry.field(description="Whatever its users keep with it.")
    transformer: Transformer = strawberry.field(description="What it does with a row.")

    is_type_of = shows(records.Pipeline)
    versions = versions_of(PIPELINE, _VERSION)
    version_numbered = version_numbered(PIPELINE, _VERSION)
    diff = diff_of(PIPELINE)


@strawberry.type(description="A pipeline as it was at one of its versions.")
class PipelineVersion(ResourceVersion):
    attributes: JSON | None = strawberry.field(description="Whatever its users kept with it.")
    transformer: Transformer = strawberry.field(description="What it did with a row.")

    is_type_of = shows(records.PipelineVersion)
    pipeline = latest_of(PIPELINE, Pipeline)


@strawberry.type
class PipelineQuery:
    pipeline = by_id(PIPELINE, Pipeline)
    pipeline_by_name = by_name(PIPELINE, Pipeline)
    pipelines = listed(PIPELINE, Pipeline)
