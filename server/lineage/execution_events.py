"""The events of executions: each is a run of its pipeline, and so is each retry of one."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from penstock.datastore.executions.files import errors_key, input_key, output_key, parquet_key
from penstock.datastore.executions.records import Execution, OutputFormat
from penstock.datastore.executions.subjects import ExecutionSubject
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.work_reports import ExecutionChange, ExecutionReport
from penstock.server.lineage.events import (
    Dataset,
    EventType,
    Facets,
    Job,
    LineageEvent,
    Run,
    dataset_documentation_facet,
    dataset_version_facet,
    derived_run_id,
    documentation_facet,
    engine_facet,
    error_facet,
    event_time,
    job_type_facet,
    read_statistics_facet,
    tags_facet,
    written_statistics_facet,
)
from penstock.server.lineage.names import LineageNames

EXECUTION_TYPES: Final[Mapping[ExecutionChange, EventType]] = {
    ExecutionChange.STARTED: EventType.START,
    ExecutionChange.TAKEN_OVER: EventType.RUNNING,
    ExecutionChange.SUCCEEDED: EventType.COMPLETE,
    ExecutionChange.FAILED: EventType.FAIL,
    ExecutionChange.CANCELLED: EventType.ABORT,
}
"""The changes that have an event."""


def execution_events(
    report: ExecutionReport, subject: ExecutionSubject, names: LineageNames
) -> list[LineageEvent]:
    """The events of a change; what ended without a start has both if it has a result, else none."""
    execution, pipeline, retries = subject
    kind = EXECUTION_TYPES[report.change]
    job = names.job(pipeline.owner, f"pipelines/{pipeline.name}")
    number = f"Version {execution.pipeline_version} of the pipeline."
    described = f"{number} {pipeline.description}" if pipeline.description else number
    facets = {
        **engine_facet(),
        **tags_facet((tag.key, tag.value, "USER") for tag in execution.tags),
    }
    event = LineageEvent(
        event_type=kind,
        event_time=event_time(report.at),
        run=Run(
            run_id=derived_run_id(execution.id, retries) if retries else execution.id,
            facets={**facets, **_end_facets(report, kind)},
        ),
        job=Job(
            namespace=job.namespace,
            name=job.name,
            facets={**job_type_facet("PIPELINE"), **documentation_facet(described)},
        ),
        inputs=tuple(_inputs(execution, names)),
        outputs=tuple(_outputs(execution, names)) if kind is EventType.COMPLETE else (),
    )
    if not report.change.is_end or report.seconds is not None:
        return [event]
    if kind is not EventType.COMPLETE:
        return []
    # Its result is that of an earlier execution, which no worker needed to repeat.
    run = replace(event.run, facets=facets)
    return [replace(event, event_type=EventType.START, run=run, outputs=()), event]


def _end_facets(report: ExecutionReport, kind: EventType) -> Facets:
    if kind is not EventType.FAIL:
        return {}
    # The message may quote a cell of the input, so the code has to do.
    return error_facet(report.reason or "no reason was told", "Python")


def _inputs(execution: Execution, names: LineageNames) -> Iterator[Dataset]:
    """The file of rows, and the reference datasets that formulas look into."""
    size = execution.bytes_total
    facets = {} if size is None else read_statistics_facet(size)
    yield Dataset(namespace=names.files, name=input_key(execution), input_facets=facets)
    for pin in execution.pins:
        if pin.kind == REFERENCE_DATASET.letter:
            described = dataset_documentation_facet(pin.name)
            yield _reference_dataset(names, pin.id, pin.version, described)


def _outputs(execution: Execution, names: LineageNames) -> Iterator[Dataset]:
    """The files of the result, and what else an execution adds to."""
    is_parquet = execution.output_format is OutputFormat.PARQUET
    key = parquet_key(execution) if is_parquet else output_key(execution)
    written = written_statistics_facet(rowCount=execution.succeeded)
    yield Dataset(namespace=names.files, name=key, output_facets=written)
    if execution.failed:
        rejected = written_statistics_facet(rowCount=execution.failed)
        yield Dataset(namespace=names.files, name=errors_key(execution), output_facets=rejected)
    if execution.rows_commit is not None:
        yield Dataset(
            namespace=names.namespace,
            name=f"rows/{execution.pipeline_id}",
            facets=dataset_version_facet(execution.rows_commit),
            output_facets=written,
        )
    if execution.dataset_id is not None:
        yield _reference_dataset(names, execution.dataset_id, execution.dataset_version or 1, {})


def _reference_dataset(names: LineageNames, id: str, version: int, facets: Facets) -> Dataset:
    return Dataset(
        namespace=names.namespace,
        name=f"datasets/{id}",
        facets={**facets, **dataset_version_facet(version)},
    )
