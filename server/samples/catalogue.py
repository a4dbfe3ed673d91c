"""The sample catalogue: groups and pipelines of a company that reports its emissions.

It also makes input files for these pipelines. Both are the same each time.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.datastore.records import (
    Output,
    Parameter,
    Tag,
    TimestampForm,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath

HEADER = "Date,Activity,Emission factor"
BAD_EVERY = 1000


DEFAULT_SIZE = 150


def sample_rows(count: int) -> Iterator[str]:
    """Yield the lines of a file with `count` rows; every thousandth activity is no number."""
    yield HEADER
    for n in range(1, count + 1):
        activity = "unknown" if n % BAD_EVERY == 0 else f"{n % 9000 + 1}.{n % 10}"
        yield f"{n % 12 + 1}/{n % 28 + 1}/{20 + n % 7},{activity},0.{100 + n % 400}"


def total_emissions(count: int) -> Decimal:
    """Return the sum of the good rows' outputs, in kg CO2e."""
    found = Decimal(0)
    for n in range(1, count + 1):
        if n % BAD_EVERY:
            found += Decimal(f"{n % 9000 + 1}.{n % 10}") * Decimal(f"0.{100 + n % 400}")
    return found


GROUPS = tuple(
    map(GroupPath, ("/usa", "/usa/northwest", "/usa/southeast", "/eu", "/eu/germany", "/eu/france"))
)

_SOURCES = ("SAP", "Oracle", "Manual upload", "Meter")
_SCOPES = ("1", "2", "3/upstream", "3/downstream")
_MATERIALS = (
    "material/metal/steel",
    "material/metal/aluminium",
    "material/plastic/PET",
    "material/plastic/PVC",
    "material/concrete",
    "energy/electricity",
    "energy/gas",
)
_PLANTS = ("abc", "def", "ghi", "jkl", "mno")


class SampleResource(NamedTuple):
    """One resource of the catalogue, and its group."""

    group: GroupPath
    content: dict[str, Any]


def sample_pipelines(size: int) -> Iterator[SampleResource]:
    """Yield the first `size` pipelines, the same ones each time."""
    if size > 0:
        yield _document_pipeline()
    for n in range(1, size):
        yield _numbered_pipeline(n)


def _document_pipeline() -> SampleResource:
    """Return the pipeline of the documentation."""
    vehicle = Output(
        index=0,
        key="vehicle",
        label="Vehicle",
        description="The type of the vehicle with this pin",
        type=ValueType.NUMBER,
    )
    formula = "LOOKUP('vehicle_type', IN(:pin24))"
    pin = Parameter(
        index=0,
        key="pin24",
        label="pin 24",
        description="The vehicle's pin",
        type=ValueType.STRING,
        required=True,
    )
    return SampleResource(
        GROUPS[0],
        {
            "name": "sap:emissions:pipeline",
            "description": "Vehicle emissions as they come from SAP.",
            "attributes": {"label": "My Pipeline", "description": "this is a new pipeline"},
            "tags": _tags("SAP", "abc", _SCOPES[0], "material/metal/steel"),
            "transformer": Transformer(
                parameters=(pin,),
                transforms=(Transform(index=0, formula=formula, outputs=(vehicle,)),),
            ),
        },
    )


def _numbered_pipeline(n: int) -> SampleResource:
    source, scope = _SOURCES[n % 4], _SCOPES[n // 4 % 4]
    material, plant = _MATERIALS[n % 7], _PLANTS[n // 7 % 5]
    name = f"{source.lower().replace(' ', '-')}:{material.rpartition('/')[2]}:{n:05d}"
    return SampleResource(
        GROUPS[n % len(GROUPS)],
        {
            "name": name,
            "description": f"Scope {scope} emissions of {material} from {source}.",
            "attributes": {"label": f"Pipeline {n}"},
            "tags": _tags(source, plant, scope, material),
            "transformer": _activity_times_factor(),
        },
    )


def _tags(source: str, plant: str, scope: str, material: str) -> tuple[Tag, ...]:
    return (
        Tag(key="source", value=source),
        Tag(key="plant", value=plant),
        Tag(key="scope", value=scope),
        Tag(key="material", value=material),
    )


def _activity_times_factor() -> Transformer:
    parameters = tuple(
        Parameter(index=index, key=key, label=label, type=type, required=True)
        for index, (key, label, type) in enumerate(
            (
                ("date", "Date", ValueType.TIMESTAMP),
                ("activity", "Activity", ValueType.NUMBER),
                ("factor", "Emission factor", ValueType.NUMBER),
            )
        )
    )
    outputs = (
        ("AS_TIMESTAMP(:date,'M/d/yy')", "time", "Time", ValueType.TIMESTAMP),
        (":activity*:factor", "co2e", "kg CO2e", ValueType.NUMBER),
    )
    transforms = tuple(
        Transform(
            index=index,
            formula=formula,
            outputs=(Output(index=0, key=key, label=label, type=type),),
        )
        for index, (formula, key, label, type) in enumerate(outputs)
    )
    return Transformer(
        parameters=parameters, transforms=transforms, timestamps=TimestampForm.ISO_8601
    )
