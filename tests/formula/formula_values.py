"""Short functions that evaluate a formula in a test."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest

from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import examine
from penstock.formula.core.datasets import (
    LATEST,
    DatasetRows,
    Datasets,
    InMemoryDatasets,
    NoDatasets,
)
from penstock.formula.core.errors import FormulaCode, FormulaFailure
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar, Value
from penstock.formula.evaluate import compile_formula

NUMBER = FormulaType.NUMBER
STRING = FormulaType.STRING
BOOLEAN = FormulaType.BOOLEAN
TIMESTAMP = FormulaType.TIMESTAMP

VEHICLE_FORMULA = (
    "IF(COALESCE(:passengers,0)>0,"
    "IMPACT('passenger_vehicles',:vehicleType,:pollutant)*:distance*:passengers,"
    "IMPACT('vehicles',:vehicleType,:pollutant)*:distance)"
)
VEHICLE = Surroundings(
    (
        FormulaParameter("vehicleType", STRING),
        FormulaParameter("pollutant", STRING),
        FormulaParameter("distance", NUMBER),
        FormulaParameter("passengers", NUMBER, required=False),
    ),
    NUMBER,
)
FACTORS = InMemoryDatasets(
    impacts={
        ("passenger_vehicles", LATEST): {("car", "co2"): Decimal("0.175")},
        ("vehicles", LATEST): {("car", "co2"): Decimal("0.3502")},
    }
)


def declare_row(row: Mapping[str, object]) -> Surroundings:
    """Declare a parameter for each entry of a row, by its Python type; None is optional text."""
    types = {str: STRING, bool: BOOLEAN, type(None): STRING}
    return Surroundings(
        tuple(
            FormulaParameter(key, types.get(type(entry), NUMBER), required=entry is not None)
            for key, entry in row.items()
        )
    )


def value(text: str, datasets: Datasets | None = None, /, **row: object) -> Value:
    return compile_formula(text, declare_row(row)).run(row, datasets or NoDatasets())


def number_text(text: str, **row: object) -> str:
    """Return a number as it was computed, with trailing zeros."""
    return str(value(text, **row))


def failure(text: str, datasets: Datasets | None = None, /, **row: object) -> FormulaFailure:
    with pytest.raises(FormulaFailure) as caught:
        value(text, datasets, **row)
    return caught.value


def code(text: str, datasets: Datasets | None = None, /, **row: object) -> FormulaCode:
    return failure(text, datasets, **row).code


def codes(text: str, surroundings: Surroundings | None = None) -> list[str]:
    return [problem.code for problem in examine(text, surroundings).problems]


def messages(text: str, surroundings: Surroundings | None = None) -> list[str]:
    return [f"{p.at}: {p.message}" for p in examine(text, surroundings).problems]


def table(columns: Sequence[str], *rows: Sequence[Scalar]) -> InMemoryDatasets:
    return InMemoryDatasets({("table", LATEST): DatasetRows(columns, rows)})


class SampleCalculations:
    """A library of calculations by name; each is visible everywhere, at its latest version."""

    def __init__(self, **calculations: tuple[tuple[FormulaParameter, ...], str]) -> None:
        self.signatures = {
            name: ResolvedCalculation(f"{name}:1", parameters, text)
            for name, (parameters, text) in calculations.items()
        }

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        return self.signatures.get(callee.name) if callee.pin == LATEST else None
