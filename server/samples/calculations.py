"""The calculations of the sample catalogue; a calculation comes before its callers."""

from typing import Any, NamedTuple

from msgspec.structs import replace

from penstock.datastore.records import Output, Parameter, Tag, ValueType
from penstock.server.samples.catalogue import GROUPS, SampleResource

_NUMBER, _STRING = ValueType.NUMBER, ValueType.STRING


class _Labels(NamedTuple):
    """The data source and the type of a calculation, and the unit of its output."""

    source: str
    type: str
    unit: str


def sample_calculations() -> tuple[SampleResource, ...]:
    """Return the calculation of the documentation, and some that call each other."""
    usa, northwest = GROUPS[0], GROUPS[1]
    return (
        SampleResource(usa, _vehicle_emissions()),
        SampleResource(
            usa,
            _content(
                "miles_to_kilometres",
                "Converts a distance.",
                ":miles*1.609344",
                (_parameter("miles", "Distance (Miles)", _NUMBER),),
                _Labels("International yard and pound", "Conversion", "km"),
            ),
        ),
        SampleResource(
            northwest,
            _content(
                "freight_emissions",
                "Calculates freight CO2eq emissions from weight and distance.",
                "#miles_to_kilometres(:miles)*:tonnes*0.062",
                (
                    _parameter("miles", "Distance (Miles)", _NUMBER),
                    _parameter("tonnes", "Weight (Tonnes)", _NUMBER),
                ),
                _Labels("GHG Protocol", "Transportation/freight", "kg CO2eq"),
            ),
        ),
    )


def _vehicle_emissions() -> dict[str, Any]:
    return _content(
        "vehicle_emissions",
        "Calculates vehicle CO2eq emissions using the GHG Protocol.",
        "IF(COALESCE(:passengers,0)>0,IMPACT('passenger_vehicles',:vehicleType,:pollutant)"
        "*:distance*:passengers,IMPACT('vehicles',:vehicleType,:pollutant)*:distance)",
        (
            _parameter("vehicleType", "Vehicle Type", _STRING),
            _parameter("pollutant", "CO2eq pollutant", _STRING),
            _parameter("distance", "Distance (Miles)", _NUMBER),
            _parameter("passengers", "Passengers", _NUMBER, required=False),
        ),
        _Labels("GHG Protocol", "Transportation", "kg CO2eq"),
    )


def _parameter(key: str, label: str, type: ValueType, *, required: bool = True) -> Parameter:
    return Parameter(index=0, key=key, label=label, type=type, required=required)


def _content(
    name: str, summary: str, formula: str, parameters: tuple[Parameter, ...], labels: _Labels
) -> dict[str, Any]:
    """Return a calculation's input; two labels become tags, and the unit labels the output."""
    return {
        "name": name,
        "summary": summary,
        "formula": formula,
        "parameters": tuple(replace(one, index=n) for n, one in enumerate(parameters)),
        "outputs": (Output(index=0, label=labels.unit, type=_NUMBER),),
        "tags": (Tag(key="Datasource", value=labels.source), Tag(key="Type", value=labels.type)),
    }
