"""The GraphQL schema: the systems merged into one."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from penstock.schema.api_keys import ApiKeyMutation
from penstock.schema.audio import Album, Artist, Audio
from penstock.schema.audio_library import AudioQuery
from penstock.schema.audio_mutations import AudioMutation
from penstock.schema.calculation_mutations import CalculationMutation
from penstock.schema.calculations import Calculation, CalculationQuery, CalculationVersion
from penstock.schema.dataset_mutations import ReferenceDatasetMutation
from penstock.schema.datasets import (
    ReferenceDataset,
    ReferenceDatasetQuery,
    ReferenceDatasetVersion,
)
from penstock.schema.evaluation import EvaluationQuery
from penstock.schema.execution_mutations import ExecutionMutation
from penstock.schema.execution_workers import ExecutionWorkerMutation
from penstock.schema.executions import Execution, ExecutionQuery
from penstock.schema.failures import HANDLERS
from penstock.schema.groups import Group, GroupMutation, GroupQuery
from penstock.schema.jobs import Job, JobQuery
from penstock.schema.listening_mutations import ListeningMutation
from penstock.schema.ngsi import NgsiQuery
from penstock.schema.ngsi_mutations import NgsiMutation
from penstock.schema.pipeline_mutations import PipelineMutation
from penstock.schema.pipelines import Pipeline, PipelineQuery, PipelineVersion
from penstock.schema.playlist_files import PlaylistFileMutation
from penstock.schema.playlist_mutations import PlaylistMutation
from penstock.schema.playlists import Playlist, PlaylistQuery
from penstock.schema.run_mutations import RunMutation
from penstock.schema.runs import Manifest, Run, RunQuery
from penstock.schema.scalars import SCALARS
from penstock.schema.storages import Storage, StorageMutation, StorageQuery
from penstock.schema.subscriptions import Subscription
from penstock.schema.tags import TagQuery
from penstock.schema.viewer import ViewerQuery


@strawberry.type(description="What can be read.")
class Query(
    ViewerQuery,
    GroupQuery,
    JobQuery,
    TagQuery,
    PipelineQuery,
    CalculationQuery,
    AudioQuery,
    PlaylistQuery,
    StorageQuery,
    RunQuery,
    ReferenceDatasetQuery,
    EvaluationQuery,
    ExecutionQuery,
    NgsiQuery,
):
    pass


@strawberry.type(description="What can be changed.")
class Mutation(
    GroupMutation,
    PipelineMutation,
    CalculationMutation,
    ReferenceDatasetMutation,
    ExecutionMutation,
    ExecutionWorkerMutation,
    PlaylistMutation,
    PlaylistFileMutation,
    ListeningMutation,
    ApiKeyMutation,
    AudioMutation,
    StorageMutation,
    RunMutation,
    NgsiMutation,
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
        Audio,
        Artist,
        Album,
        Storage,
        Run,
        Manifest,
        ReferenceDataset,
        ReferenceDatasetVersion,
        Playlist,
        Execution,
    ],
    config=StrawberryConfig(scalar_map=dict(SCALARS)),
    exception_handlers=HANDLERS,
)


def sdl() -> str:
    """The schema in the definition language, as `schema.graphql` holds it."""
    return schema.as_str() + "\n"
