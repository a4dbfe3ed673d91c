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
from schema.execution_mutations import ExecutionMutation
from schema.execution_workers import ExecutionWorkerMutation
from schema.executions import Execution, ExecutionQuery
from schema.failures import HANDLERS
from schema.groups import Group, GroupMutation, GroupQuery
from schema.jobs import Job, JobQuery
from schema.listening_mutations import ListeningMutation
from schema.ngsi import NgsiQuery
from schema.ngsi_mutations import NgsiMutation
from schema.pipeline_mutations import PipelineMutation
from schema.pipelines import Pipeline, PipelineQuery, PipelineVersion
from schema.playlist_files import PlaylistFileMutation
from schema.playlist_mutations import PlaylistMutation
from schema.playlists import Playlist, PlaylistQuery
from schema.run_mutations import RunMutation
from schema.runs import Manifest, Run, RunQuery
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
