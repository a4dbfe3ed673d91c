"""The sample reference data: emission factors for the sample calculations."""

from typing import NamedTuple

from penstock.datastore.records import DatasetColumn, Tag, ValueType
from penstock.datastore.roles import GroupPath
from penstock.server.samples.catalogue import GROUPS

_FACTORS = (
    ("vehicle_type", "Type of vehicle", ValueType.STRING),
    ("co2", "kg of carbon dioxide", ValueType.NUMBER),
    ("ch4", "kg of methane", ValueType.NUMBER),
    ("n2o", "kg of nitrous oxide", ValueType.NUMBER),
    ("co2e", "kg of carbon dioxide that warm as much as all three", ValueType.NUMBER),
)
_VEHICLES = """\
vehicle_type,co2,ch4,n2o,co2e
car,0.313,0.000008,0.000007,0.315286
light-duty truck,0.467,0.000012,0.000007,0.469386
motorcycle,0.183,0.00007,0.000007,0.186836
"""
_PASSENGER_VEHICLES = """\
vehicle_type,co2,ch4,n2o,co2e
car,0.175,0.000005,0.000003,0.176019
bus,0.054,0.0000206,0.0000009,0.0547832
intercity rail,0.113,0.0000092,0.0000026,0.1140048
"""
_PINS = """\
pin,class
1FTFW1ET5DFC10312,2
4T1BF1FK5CU012345,1
JH2SC5902AK000017,3
"""


class SampleDataset(NamedTuple):
    """A reference dataset of the catalogue, with its file and its group."""

    group: GroupPath
    name: str
    description: str
    tags: tuple[Tag, ...]
    columns: tuple[DatasetColumn, ...]
    csv: str


def sample_datasets() -> tuple[SampleDataset, ...]:
    """Return the datasets for `vehicle_emissions` and the pipeline of the documentation."""
    factors = _columns(*_FACTORS)
    source = (
        Tag(key="Datasource", value="GHG Protocol"),
        Tag(key="Type", value="Transportation/factors"),
    )
    pins = _columns(
        ("pin", "The vehicle's pin", ValueType.STRING),
        ("class", "1 car, 2 light-duty truck, 3 motorcycle", ValueType.NUMBER),
    )
    fleet = (Tag(key="Datasource", value="Fleet"),)
    return (
        _usa_dataset(
            "vehicles", "Sample factors for a vehicle and mile.", source, factors, _VEHICLES
        ),
        _usa_dataset(
            "passenger_vehicles",
            "Sample factors for a passenger and mile.",
            source,
            factors,
            _PASSENGER_VEHICLES,
        ),
        _usa_dataset("vehicle_type", "The classes of a fleet's vehicles.", fleet, pins, _PINS),
    )


def _usa_dataset(
    name: str, description: str, tags: tuple[Tag, ...], columns: tuple[DatasetColumn, ...], csv: str
) -> SampleDataset:
    return SampleDataset(GROUPS[0], name, description, tags, columns, csv)


def _columns(*columns: tuple[str, str, ValueType]) -> tuple[DatasetColumn, ...]:
    return tuple(
        DatasetColumn(name=name, description=description, type=type)
        for name, description, type in columns
    )
