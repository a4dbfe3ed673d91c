"""The events of the work on runs of manifests: each claim is a run of its own in the catalogue."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from penstock.datastore.manifest.records import Stage
from penstock.datastore.manifest.rules import folder_parts
from penstock.datastore.ngsi.run_counts import items_in
from penstock.datastore.ngsi.run_log import MANIFEST
from penstock.datastore.text import comparison_form
from penstock.datastore.work_reports import RunChange, RunReport, RunSubject
from penstock.server.lineage.events import (
    Dataset,
    EventType,
    Facets,
    Job,
    LineageEvent,
    Run,
    derived_run_id,
    documentation_facet,
    engine_facet,
    error_facet,
    event_time,
    job_type_facet,
    nominal_time_facet,
    parent_facet,
    tags_facet,
    written_statistics_facet,
)
from penstock.server.lineage.names import LineageNames

_TYPES: Final[Mapping[RunChange, EventType]] = {
    RunChange.CLAIMED: EventType.START,
    RunChange.PROCESSED: EventType.COMPLETE,
    RunChange.LOADED: EventType.COMPLETE,
    RunChange.FAILED: EventType.FAIL,
    RunChange.GIVEN_UP: EventType.FAIL,
    RunChange.CLAIM_LOST: EventType.ABORT,
}

_TIME_OF_FOLDER: Final = re.compile(r"run=(\d{4}(?:-\d\d){5})", re.ASCII)
"""The time in the name of a folder that Snowplow makes."""


def run_event(report: RunReport, names: LineageNames) -> LineageEvent:
    """The event of a change of the work on a run."""
    kind, subject = _TYPES[report.change], report.subject
    stage = Stage(report.stage)
    base = f"manifests/{comparison_form(subject.manifest)}"
    job = names.job(subject.group, f"{base}/{stage}")
    parent = parent_facet(report.id, names.job(subject.group, base))
    described = documentation_facet(f"Pipeline {subject.pipeline}") if subject.pipeline else {}
    return LineageEvent(
        event_type=kind,
        event_time=event_time(report.at),
        run=Run(
            run_id=derived_run_id(report.id, subject.fence),
            facets={**parent, **_run_facets(subject, kind)},
        ),
        job=Job(
            namespace=job.namespace,
            name=job.name,
            facets={**job_type_facet(stage.upper()), **described},
        ),
        inputs=tuple(_inputs(subject, stage, names)),
        outputs=tuple(_outputs(subject, stage, names)) if kind is EventType.COMPLETE else (),
    )


def _run_facets(subject: RunSubject, kind: EventType) -> Facets:
    tags = [(key, value, "USER") for key, value in subject.tags]
    if subject.batch is not None:
        tags.append(("batch", subject.batch, "MANIFEST"))
    found = dict(tags_facet(tags))
    if _is_of_sink(subject):
        found |= engine_facet()
    if (time := _nominal_time(subject.folder)) is not None:
        found |= nominal_time_facet(time)
    if kind is EventType.FAIL:
        # Workers are programs of others, and do not tell in which language they are written.
        found |= error_facet(subject.error or "no reason was told", "unknown")
    return found


def _nominal_time(folder: str) -> datetime | None:
    found = _TIME_OF_FOLDER.search(folder)
    try:
        return None if found is None else datetime.strptime(f"{found[1]}Z", "%Y-%m-%d-%H-%M-%S%z")
    except ValueError:
        return None


def _inputs(subject: RunSubject, stage: Stage, names: LineageNames) -> Iterator[Dataset]:
    if stage is Stage.TRANSFORM:
        yield Dataset(namespace=names.files, name=_folder_name(subject.folder))
    elif subject.saved_to is not None:
        yield _folder_dataset(subject.saved_to)


def _outputs(subject: RunSubject, stage: Stage, names: LineageNames) -> Iterator[Dataset]:
    """The output of a stage; only the sink says what it loads into."""
    if stage is Stage.TRANSFORM:
        if subject.saved_to is not None:
            yield _folder_dataset(subject.saved_to)
    elif _is_of_sink(subject):
        items = items_in(subject.counts)
        for table in subject.types:
            facets = written_statistics_facet(rowCount=items[table]) if table in items else {}
            yield Dataset(namespace=names.namespace, name=f"samples/{table}", output_facets=facets)


def _is_of_sink(subject: RunSubject) -> bool:
    return (subject.group, subject.manifest) == MANIFEST


def _folder_dataset(folder: str) -> Dataset:
    bucket, path = folder_parts(folder) or ("", folder)
    return Dataset(namespace=f"s3://{bucket}", name=_folder_name(path))


def _folder_name(path: str) -> str:
    """The name of a folder; that of a whole bucket is `/`."""
    return path.rstrip("/") or "/"
