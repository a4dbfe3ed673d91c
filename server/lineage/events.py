"""The run events of OpenLineage 2-0-2, and the facets that Penstock fills.

Names and versions of the parts are those of https://openlineage.io/spec/2-0-2/OpenLineage.json.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID, uuid5

import msgspec

from penstock.datastore.clock import iso_timestamp

SPEC: Final = "https://openlineage.io/spec"
RELEASE: Final = version("penstock")
PRODUCER: Final = f"https://pypi.org/project/penstock/{RELEASE}/"
INTEGRATION: Final = "PENSTOCK"

Facet: TypeAlias = Mapping[str, object]
Facets: TypeAlias = Mapping[str, Facet]


class EventType(StrEnum):
    """The state that an event tells of a run; the last three end it."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


class JobName(NamedTuple):
    """A job by its namespace and its name in there."""

    namespace: str
    name: str


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One run of a job."""

    run_id: str
    facets: Facets = {}


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job, and what is said of it."""

    namespace: str
    name: str
    facets: Facets = {}


class Dataset(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Data that a run reads or makes; it has facets of the one or of the other kind."""

    namespace: str
    name: str
    facets: Facets = {}
    input_facets: Facets = {}
    output_facets: Facets = {}


class LineageEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of a run, at a time."""

    event_type: EventType
    event_time: str
    run: Run
    job: Job
    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    producer: str = PRODUCER
    schema_url: str = msgspec.field(
        default=f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent", name="schemaURL"
    )


def event_time(seconds: float) -> str:
    """The text of an epoch time."""
    return iso_timestamp(datetime.fromtimestamp(seconds, UTC))


def derived_run_id(id: str, number: int) -> str:
    """The id of a run that has none of its own: the `number`th of what has this UUIDv7.

    It is a UUIDv7 of the same time, and each process derives the same.
    """
    below = UUID(id)
    lower = uuid5(below, str(number)).int & ((1 << 80) - 1)
    mixed = (below.int >> 80 << 80) | (lower & ~(0xF << 76)) | (7 << 76)
    return str(UUID(int=mixed))


def _facet(schema: str, name: str, fields: Mapping[str, object]) -> Facet:
    address = f"{SPEC}/facets/{schema}/{name}.json#/$defs/{name}"
    return {"_producer": PRODUCER, "_schemaURL": address, **fields}


def parent_facet(run_id: str, job: JobName) -> Facets:
    """The run of which this one is a part."""
    fields = {"run": {"runId": run_id}, "job": job._asdict()}
    return {"parent": _facet("1-2-0", "ParentRunFacet", fields)}


def engine_facet() -> Facets:
    """The program that works, which is this one."""
    fields = {"version": RELEASE, "name": "Penstock", "openlineageAdapterVersion": RELEASE}
    return {"processing_engine": _facet("1-1-1", "ProcessingEngineRunFacet", fields)}


def error_facet(message: str, language: str) -> Facets:
    fields = {"message": message, "programmingLanguage": language}
    return {"errorMessage": _facet("1-0-1", "ErrorMessageRunFacet", fields)}


def nominal_time_facet(start: datetime) -> Facets:
    """The time of the data that a run is for."""
    fields = {"nominalStartTime": iso_timestamp(start)}
    return {"nominalTime": _facet("1-0-1", "NominalTimeRunFacet", fields)}


def tags_facet(tags: Iterable[tuple[str, str, str]]) -> Facets:
    """Tags of a run: key, value, and who gave it."""
    found = [{"key": key, "value": value, "source": source} for key, value, source in tags]
    return {"tags": _facet("1-0-0", "TagsRunFacet", {"tags": found})} if found else {}


def job_type_facet(kind: str) -> Facets:
    fields = {"processingType": "BATCH", "integration": INTEGRATION, "jobType": kind}
    return {"jobType": _facet("2-0-4", "JobTypeJobFacet", fields)}


def documentation_facet(description: str) -> Facets:
    """The description of a job."""
    fields = {"description": description}
    return {"documentation": _facet("1-1-0", "DocumentationJobFacet", fields)}


def dataset_documentation_facet(description: str) -> Facets:
    """The description of a dataset."""
    fields = {"description": description}
    return {"documentation": _facet("1-1-0", "DocumentationDatasetFacet", fields)}


def dataset_version_facet(number: int) -> Facets:
    fields = {"datasetVersion": str(number)}
    return {"version": _facet("1-0-1", "DatasetVersionDatasetFacet", fields)}


def read_statistics_facet(size: int) -> Facets:
    """The bytes of an input."""
    return {"inputStatistics": _facet("1-0-0", "InputStatisticsInputDatasetFacet", {"size": size})}


def written_statistics_facet(**counts: int) -> Facets:
    """The `rowCount` and the `size` of an output, as far as they are known."""
    name = "OutputStatisticsOutputDatasetFacet"
    return {"outputStatistics": _facet("1-0-2", name, counts)}
