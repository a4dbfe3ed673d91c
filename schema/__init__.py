"""The GraphQL schema: the fields of all areas, merged into one query and one mutation type."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from penstock.schema.audio.artwork import ArtworkMutation
from penstock.schema.audio.by_name import AudioNameQuery
from penstock.schema.audio.listening_mutations import ListeningMutation
from penstock.schema.audio.mutations import AudioMutation
from penstock.schema.audio.old_storage_names import OldStorageMutation
from penstock.schema.audio.playlist_files import PlaylistFileMutation
from penstock.schema.audio.playlist_mutations import PlaylistMutation
from penstock.schema.audio.playlists import Playlist, PlaylistQuery
from penstock.schema.audio.queries import AudioQuery
from penstock.schema.audio.renaming import RenamingMutation
from penstock.schema.audio.rule_evaluation import RuleEvaluationQuery
from penstock.schema.audio.storages import Storage, StorageMutation, StorageQuery
from penstock.schema.audio.tracks import Album, Artist, Audio
from penstock.schema.calculations.calculations import (
    Calculation,
    CalculationQuery,
    CalculationVersion,
)
from penstock.schema.calculations.evaluation import EvaluationQuery
from penstock.schema.calculations.mutations import CalculationMutation
from penstock.schema.core.failures import HANDLERS
from penstock.schema.core.jobs import Job, JobMutation, JobQuery
from penstock.schema.core.scalars import SCALARS
from penstock.schema.datasets.datasets import (
    ReferenceDataset,
    ReferenceDatasetQuery,
    ReferenceDatasetVersion,
)
from penstock.schema.datasets.loads import DatasetLoadMutation
from penstock.schema.datasets.mutations import ReferenceDatasetMutation
from penstock.schema.executions.dry_run import DryRunQuery
from penstock.schema.executions.executions import Execution, ExecutionQuery
from penstock.schema.executions.group_executions import GroupExecutionQuery
from penstock.schema.executions.mutations import ExecutionMutation
from penstock.schema.executions.worker_mutations import ExecutionWorkerMutation
from penstock.schema.groups.api_keys import ApiKeyMutation
from penstock.schema.groups.groups import Group, GroupMutation, GroupQuery
from penstock.schema.groups.player_passwords import PlayerPasswordMutation
from penstock.schema.groups.viewer import ViewerQuery
from penstock.schema.kept_rows.rows import KeptRow
from penstock.schema.manifest.manifest_mutations import ManifestMutation
from penstock.schema.manifest.queries import RunQuery
from penstock.schema.manifest.run_mutations import RunMutation
from penstock.schema.manifest.runs import Manifest, Run
from penstock.schema.metrics.metrics import Metric, MetricQuery, MetricVersion
from penstock.schema.metrics.mutations import MetricMutation
from penstock.schema.ngsi.mutations import NgsiMutation
from penstock.schema.ngsi.services import NgsiQuery
from penstock.schema.pipelines.mutations import PipelineMutation
from penstock.schema.pipelines.pipelines import Pipeline, PipelineQuery, PipelineVersion
from penstock.schema.pipelines.withdraw_rows import KeptRowMutation
from penstock.schema.resources.labels import VersionLabelMutation
from penstock.schema.resources.queries import TagQuery
from penstock.schema.resources.restore import RestoreMutation
from penstock.schema.subscriptions import Subscription
from penstock.schema.system.system import SystemQuery


@strawberry.type(description="The fields that read data. A query changes nothing.")
class Query(
    ViewerQuery,
    GroupQuery,
    JobQuery,
    SystemQuery,
    TagQuery,
    PipelineQuery,
    CalculationQuery,
    AudioQuery,
    AudioNameQuery,
    PlaylistQuery,
    RuleEvaluationQuery,
    StorageQuery,
    RunQuery,
    ReferenceDatasetQuery,
    MetricQuery,
    EvaluationQuery,
    DryRunQuery,
    ExecutionQuery,
    GroupExecutionQuery,
    NgsiQuery,
):
    pass


@strawberry.type(
    description=(
        "The fields that change data. They run one after another, in the order of the document."
    )
)
class Mutation(
    GroupMutation,
    PipelineMutation,
    KeptRowMutation,
    CalculationMutation,
    ReferenceDatasetMutation,
    DatasetLoadMutation,
    MetricMutation,
    RestoreMutation,
    VersionLabelMutation,
    ExecutionMutation,
    ExecutionWorkerMutation,
    PlaylistMutation,
    PlaylistFileMutation,
    ListeningMutation,
    ApiKeyMutation,
    PlayerPasswordMutation,
    AudioMutation,
    RenamingMutation,
    ArtworkMutation,
    StorageMutation,
    OldStorageMutation,
    JobMutation,
    RunMutation,
    ManifestMutation,
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
        KeptRow,
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
        Metric,
        MetricVersion,
        Playlist,
        Execution,
    ],
    config=StrawberryConfig(scalar_map=dict(SCALARS)),
    exception_handlers=HANDLERS,
)


def sdl() -> str:
    """Return the schema in the schema definition language, as `schema.graphql` holds it."""
    return schema.as_str() + "\n"
