"""Short functions that evaluate a formula in a test."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest

from penstock.formula.checking.calculation_library import Callee, Signature
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import examine
from penstock.formula.core.datasets import LATEST, Datasets, InMemory, NoDatasets, Rows
from penstock.formula.core.errors import Code, FormulaFailure
from penstock.formula.core.values import Parameter, Scalar, Value, ValueType
from penstock.formula.evaluate import compile_formula

NUMBER = ValueType.NUMBER
STRING = ValueType.STRING
BOOLEAN = ValueType.BOOLEAN
TIMESTAMP = ValueType.TIMESTAMP

VEHICLE_FORMULA = (
    "IF(COALESCE(:passengers,0)>0,"
    "IMPACT('passenger_vehicles',:vehicleType,:pollutant)*:distance*:passengers,"
    "IMPACT('vehicles',:vehicleType,:pollutant)*:distance)"
)
VEHICLE = Surroundings(
    (
        Parameter("vehicleType", STRING),
        Parameter("pollutant", STRING),
        Parameter("distance", NUMBER),
        Parameter("passengers", NUMBER, required=False),
    ),
    NUMBER,
)
FACTORS = InMemory(
    impacts={
        ("passenger_vehicles", LATEST): {("car", "co2"): Decimal("0.175")},
        ("vehicles", LATEST): {("car", "co2"): Decimal("0.3502")},
    }
)


def around(row: Mapping[str, object]) -> Surroundings:
    """Declare a parameter for each entry of a row, by its Python type; None is optional text."""
    types = {str: STRING, bool: BOOLEAN, type(None): STRING}
    return Surroundings(
        tuple(
            Parameter(key, types.get(type(entry), NUMBER), required=entry is not None)
            for key, entry in row.items()
        )
    )


def value(text: str, datasets: Datasets | None = None, /, **row: object) -> Value:
    return compile_formula(text, around(row)).run(row, datasets or NoDatasets())


def written(text: str, **row: object) -> str:
    """Return a number as it was computed, with trailing zeros."""
    return str(value(text, **row))


def failure(text: str, datasets: Datasets | None = None, /, **row: object) -> FormulaFailure:
    with pytest.raises(FormulaFailure) as caught:
        value(text, datasets, **row)
    return caught.value


def code(text: str, datasets: Datasets | None = None, /, **row: object) -> Code:
    return failure(text, datasets, **row).code


def codes(text: str, surroundings: Surroundings | None = None) -> list[str]:
    return [problem.code for problem in examine(text, surroundings).problems]


def messages(text: str, surroundings: Surroundings | None = None) -> list[str]:
    return [f"{p.at}: {p.message}" for p in examine(text, surroundings).problems]


def table(columns: Sequence[str], *rows: Sequence[Scalar]) -> InMemory:
    return InMemory({("table", LATEST): Rows(columns, rows)})


class Shelf:
    """A library of calculations by name; each is visible everywhere, at its latest version."""

    def __init__(self, **calculations: tuple[tuple[Parameter, ...], str]) -> None:
        self.signatures = {
            name: Signature(f"{name}:1", parameters, text)
            for name, (parameters, text) in calculations.items()
        }

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self.signatures.get(callee.name) if callee.pin == LATEST else None
