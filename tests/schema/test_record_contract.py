"""A field without a resolver has an attribute of the same name and nullability on its record."""

import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from graphql import GraphQLField, GraphQLNonNull, GraphQLObjectType
from strawberry.types.field import StrawberryField

from penstock.datastore import records
from penstock.datastore.access import quota_report
from penstock.datastore.audio import records as audio
from penstock.datastore.executions import attempts
from penstock.datastore.executions import records as execution_records
from penstock.datastore.executions.lists import state_counts
from penstock.datastore.executions.workers import inline, registry
from penstock.datastore.history.rows import HistoryEntry
from penstock.datastore.jobs import jobs
from penstock.datastore.kept_rows import metric_series, read_totals
from penstock.datastore.kept_rows import records as row_records
from penstock.datastore.listening import records as listening
from penstock.datastore.manifest import records as runs
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.ngsi import (
    counts,
    dead_letters,
    directory,
    repository,
)
from penstock.datastore.ngsi.naming import rules as naming_rules
from penstock.datastore.ngsi.naming import table_names
from penstock.datastore.ngsi.reading import aggregates, positions, series
from penstock.datastore.objects.port import FileStatus
from penstock.datastore.playlists import records as playlists
from penstock.datastore.playlists import rules
from penstock.datastore.playlists.formats import document
from penstock.datastore.playlists.formats.files import PlaylistFile
from penstock.datastore.playlists.import_playlist import UnmatchedEntry
from penstock.datastore.resources import version_diff
from penstock.resolvers import ngsi as chart_records
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema

RECORDS: dict[str, type] = {
    "Album": audio.Album,
    "ApiKey": records.ApiKey,
    "PlayerPassword": records.PlayerPassword,
    "Audio": audio.Audio,
    "FileTrack": document.FileTrack,
    "PlaylistRule": rules.PlaylistRule,
    "TrackFilter": rules.TrackFilter,
    "Artist": audio.Artist,
    "AudioLink": audio.AudioLink,
    "Calculation": records.Calculation,
    "CalculationVersion": records.CalculationVersion,
    "Genre": audio.Genre,
    "Change": version_diff.ValueChange,
    "DatasetColumn": records.DatasetColumn,
    "DatasetContent": records.DatasetContent,
    "Execution": execution_records.Execution,
    "ExecutionAttempt": attempts.ExecutionAttempt,
    "ExecutionEvent": execution_records.ExecutionEvent,
    "ExecutionPin": execution_records.Pin,
    "RowProblem": inline.RowProblem,
    "KeptRow": row_records.KeptRow,
    "RowKeeping": records.RowKeeping,
    "Total": read_totals.Total,
    "Metric": records.Metric,
    "MetricPoint": metric_series.Point,
    "MetricSeries": metric_series.MetricSeries,
    "MetricSource": records.MetricSource,
    "MetricVersion": records.MetricVersion,
    "PointSource": metric_series.PointSource,
    "Group": records.Group,
    "ImportFailure": audio.ImportFailure,
    "Job": jobs.Job,
    "Manifest": runs.Manifest,
    "NgsiAttribute": directory.Attribute,
    "NgsiBucket": aggregates.AggregateBucket,
    "NgsiChart": chart_records.Chart,
    "NgsiPointPage": chart_records.PointPage,
    "NgsiPosition": positions.Position,
    "NgsiCounts": counts.IngestCounts,
    "NgsiDeadEntity": dead_letters.DeadEvent,
    "NgsiDeadLetter": dead_letters.DeadLetter,
    "NgsiDestination": table_names.Destination,
    "NgsiEntity": directory.Entity,
    "NgsiNamingRules": naming_rules.NamingDocuments,
    "NgsiPreview": repository.Preview,
    "NgsiReplayed": dead_letters.ReplayResult,
    "NgsiReplayFailure": repository.ReplayFailure,
    "NgsiSample": series.Sample,
    "NgsiService": directory.Service,
    "NgsiServicePath": directory.ServicePath,
    "Output": records.Output,
    "Parameter": records.Parameter,
    "Pipeline": records.Pipeline,
    "PipelineVersion": records.PipelineVersion,
    "Play": listening.Play,
    "PlayQueue": listening.PlayQueue,
    "Playlist": playlists.Playlist,
    "PlaylistEntry": playlists.Entry,
    "PlaylistFile": PlaylistFile,
    "Storage": audio.BucketConnection,
    "RetryRules": RetryRules,
    "Run": runs.Run,
    "RunCount": runs.RunCount,
    "RunEvent": runs.RunEvent,
    "Quota": quota_report.Quota,
    "ReferenceDataset": records.ReferenceDataset,
    "ReferenceDatasetVersion": records.ReferenceDatasetVersion,
    "Tag": records.Tag,
    "TagKey": records.TagKey,
    "TagValue": records.TagValue,
    "DatasetTarget": records.DatasetTarget,
    "Transform": records.Transform,
    "Transformer": records.Transformer,
    "UnmatchedTrack": UnmatchedEntry,
    "VersionLabel": records.VersionLabel,
    "Worker": registry.Worker,
    "ExecutionCount": state_counts.StateCount,
    "HistoryEntry": HistoryEntry,
}
ROOTS = {"Query", "Mutation", "Subscription"}
MADE_HERE = {
    "AudioLibrary",
    "ClaimedDataset",
    "DatasetUpload",
    "EvaluationError",
    "ExecutionInput",
    "ExecutionListEvent",
    "ExecutionProgress",
    "ExecutionQueue",
    "ExplainedOutput",
    "ExplainedPart",
    "Explanation",
    "FieldProblem",
    "FileDownload",
    "FormulaPosition",
    "FormulaValue",
    "GroupRole",
    "InlineResults",
    "JobQueue",
    "MeasuredValue",
    "MetricEvent",
    "PageInfo",
    "PipelineEvent",
    "Problem",
    "RejectionCount",
    "RowExplanation",
    "Setting",
    "SignedUrl",
    "SinkBacklog",
    "System",
    "TotalledValue",
    "UploadField",
    "UploadForm",
    "UsedDataset",
    "Viewer",
}
ENDINGS = ("Payload", "Connection", "Edge")
TYPES = core_schema(schema).type_map


def objects() -> Iterator[GraphQLObjectType]:
    for name, type in TYPES.items():
        if isinstance(type, GraphQLObjectType) and not name.startswith("__"):
            yield type


def plain_fields(type: GraphQLObjectType) -> dict[str, tuple[StrawberryField, GraphQLField]]:
    """Return the fields without a resolver, by their Python names."""
    found = {}
    for field in type.fields.values():
        definition = field.extensions["strawberry-definition"]
        if definition.is_basic_field:
            found[definition.python_name] = (definition, field)
    return found


def attributes(record: type) -> dict[str, Any]:
    """Return the types of a record's fields and properties, by name."""
    properties = {
        name: get_type_hints(value.fget)["return"]
        for name, value in vars(record).items()
        if isinstance(value, property)
    }
    return get_type_hints(record) | properties


def is_nullable(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint)


def _is_tuple(hint: Any) -> bool:
    return any(get_origin(each) is tuple for each in (hint, *get_args(hint)))


def test_every_type_has_a_record_or_is_made_by_the_schema() -> None:
    failures = {t.name for t in objects() if "UserError" in {i.name for i in t.interfaces}}
    others = {t.name for t in objects() if not t.name.endswith(ENDINGS)} - failures
    assert others - ROOTS - MADE_HERE == RECORDS.keys()


@pytest.mark.parametrize("name", RECORDS)
def test_plain_fields_are_on_the_record_and_as_nullable(name: str) -> None:
    type = TYPES[name]
    assert isinstance(type, GraphQLObjectType)
    hints = attributes(RECORDS[name])
    fields = plain_fields(type)
    assert fields
    assert fields.keys() <= hints.keys()
    served = {
        name: not isinstance(field.type, GraphQLNonNull) for name, (_, field) in fields.items()
    }
    assert served == {name: is_nullable(hints[name]) for name in fields}


@pytest.mark.parametrize("name", RECORDS)
def test_a_list_is_a_tuple_on_the_record(name: str) -> None:
    type = TYPES[name]
    assert isinstance(type, GraphQLObjectType)
    hints = attributes(RECORDS[name])
    for field, (_, definition) in plain_fields(type).items():
        assert str(definition.type).startswith("[") == _is_tuple(hints[field]), field


def test_the_enums_are_those_of_the_records() -> None:
    enums = {
        "State": records.State,
        "ValueType": records.ValueType,
        "JobKind": jobs.JobKind,
        "JobState": jobs.JobState,
        "PlaylistFormat": document.PlaylistFormat,
        "Every": read_totals.Every,
        "MeasureFunction": records.MeasureFunction,
        "ExecutionState": execution_records.ExecutionState,
        "ExecutionMode": execution_records.ExecutionMode,
        "DownloadStatus": FileStatus,
        "RunState": runs.RunState,
        "RunStage": runs.Stage,
        "RunAction": runs.Action,
    }
    for name, enum in enums.items():
        assert list(TYPES[name].values) == [member.name for member in enum]  # type: ignore[attr-defined]
