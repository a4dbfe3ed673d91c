"""The GraphQL schema: the systems merged into one."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from schema.api_keys import ApiKeyMutation
from schema.audio import Album, Artist, Audio
from schema.audio_library import AudioQuery
from schema.audio_mutations import AudioMutation
from schema.calculation_mutations import CalculationMutation
from schema.calculations import Calculation, CalculationQuery, CalculationVersion
from schema.dataset_mutations import ReferenceDatasetMutation
from schema.datasets import (
    ReferenceDataset,
    ReferenceDatasetQuery,
    ReferenceDatasetVersion,
)
from schema.evaluation import EvaluationQuery
from schema.failures import HANDLERS
from schema.groups import Group, GroupMutation, GroupQuery
from schema.jobs import Job, JobQuery
from schema.pipeline_mutations import PipelineMutation
from schema.pipelines import Pipeline, PipelineQuery, PipelineVersion
from schema.scalars import SCALARS
from schema.storages import Storage, StorageMutation, StorageQuery
from schema.subscriptions import Subscription
from schema.tags import TagQuery
from schema.viewer import ViewerQuery


@strawberry.type(description="What can be read.")
class Query(
    ViewerQuery,
    GroupQuery,
    JobQuery,
    TagQuery,
    PipelineQuery,
    CalculationQuery,
    ReferenceDatasetQuery,
    EvaluationQuery,
    AudioQuery,
    StorageQuery,
):
    pass


@strawberry.type(description="What can be changed.")
class Mutation(
    GroupMutation,
    PipelineMutation,
    CalculationMutation,
    ReferenceDatasetMutation,
    ApiKeyMutation,
    AudioMutation,
    StorageMutation,
):
    pass


schema = strawberry.Schema(
    Query,
    Mutation,
    Subscription,
    types=[
        Group,
        Job,
        Pipeline,
        PipelineVersion,
        Calculation,
        CalculationVersion,
        ReferenceDataset,
        ReferenceDatasetVersion,
        Audio,
        Artist,
        Album,
        Storage,
    ],
    config=StrawberryConfig(scalar_map=dict(SCALARS)),
    exception_handlers=HANDLERS,
)


def sdl() -> str:
    """The schema in the definition language, as `schema.graphql` holds it."""
    return schema.as_str() + "\n"
