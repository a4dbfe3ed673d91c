"""The rules of a resource's content, which are all checked before anything is written."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from penstock.datastore.datasets.csv import dataset_problems
from penstock.datastore.datasets.target_rules import target_problems
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.formulas.calculations import calculation_problems
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.formulas.transformers import transformer_problems
from penstock.datastore.records import Resource
from penstock.datastore.resources.metric_rules import metric_problems
from penstock.datastore.table.layout import (
    CALCULATION,
    METRIC,
    PIPELINE,
    REFERENCE_DATASET,
    KindDefinition,
)
from penstock.datastore.tag_search.tags import tag_problems
from penstock.datastore.text import line_problem, multiline_problem
from penstock.formula.checking.calculation_library import CalculationLibrary

R = TypeVar("R", bound=Resource)

MAX_NAME = 128
MAX_DESCRIPTION = 8192

_OWN_PROBLEMS: Final[Mapping[str, Callable[[Any, CalculationLibrary], list[FieldProblem]]]] = {
    PIPELINE.letter: lambda pipeline, library: [
        *transformer_problems(pipeline.transformer, library),
        *target_problems(pipeline),
    ],
    CALCULATION.letter: calculation_problems,
    REFERENCE_DATASET.letter: lambda dataset, _: dataset_problems(dataset.content),
    METRIC.letter: lambda metric, _: metric_problems(metric),
}
"""The problems of the fields that one kind of resource alone has, by its letter."""


async def check_resource(
    kind: KindDefinition[R],
    resource: R,
    library: CalculationLibrary,
    noted: Sequence[FieldProblem] = (),
) -> None:
    """Raise Invalid with the problems `noted` before, and every broken rule of the resource.

    Its formulas may call the calculations of the library.
    """
    found = (
        ("name", line_problem(resource.name, MAX_NAME)),
        ("description", multiline_problem(resource.description or "", MAX_DESCRIPTION)),
    )
    problems = [*noted, *(FieldProblem([field], message) for field, message in found if message)]
    problems += tag_problems(resource.tags)
    # Many or unusual formulas take long to parse.
    problems += await run_in_formula_thread(partial(_OWN_PROBLEMS[kind.letter], resource, library))
    if problems:
        raise Invalid(problems)
