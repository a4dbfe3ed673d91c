"""The rules of a metric: a function over inputs, each of which is an output or another metric."""

from collections.abc import Mapping
from typing import Final

from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import MeasureFunction, Metric, MetricSource, Pipeline, ValueType
from penstock.datastore.table.layout import METRIC, PIPELINE
from penstock.datastore.text import line_problem

MAX_UNIT: Final = 64
MAX_INPUTS: Final = 20

FIELD_OF_KIND: Final[Mapping[str, str]] = {PIPELINE.letter: "pipeline", METRIC.letter: "metric"}
"""The field of an input that names its source."""


def input_path(number: int, one: MetricSource) -> list[str]:
    """The path of the name in an input."""
    return ["inputs", str(number), FIELD_OF_KIND[one.kind]]


def metric_problems(metric: Metric) -> list[FieldProblem]:
    """Check the fields that only metrics have; return one problem for each broken rule."""
    problems: list[FieldProblem] = []
    if metric.unit is not None and (message := line_problem(metric.unit, MAX_UNIT)):
        problems.append(FieldProblem(["unit"], message))
    if len(metric.inputs) > MAX_INPUTS:
        problems.append(FieldProblem(["inputs"], f"at most {MAX_INPUTS} are allowed"))
    met: dict[tuple[str, str, str | None], int] = {}
    for number, one in enumerate(metric.inputs):
        first = met.setdefault((one.kind, one.id, one.output), number)
        if one.id and first != number:
            message = f"is the same as input {first}"
            problems.append(FieldProblem(input_path(number, one), message))
    return problems


def output_problem(pipeline: Pipeline, output: str, function: MeasureFunction) -> str | None:
    """Describe why a metric cannot read an output of a pipeline; None if it can."""
    keeping = pipeline.transformer.rows
    if keeping is None or keeping.time is None:
        return "the pipeline keeps no rows with a time"
    types = {
        one.key: one.type
        for transform in pipeline.transformer.transforms
        for one in transform.outputs
    }
    if output not in types:
        return f"the pipeline has no output {output[:128]!r}"
    if function is not MeasureFunction.COUNT and types[output] is not ValueType.NUMBER:
        return f"{output!r} is no number: it can only be counted"
    return None
