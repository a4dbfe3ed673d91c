"""The rules of a transformer: contiguous indexes, unique keys, one output for each transform."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from datastore.errors import FieldProblem
from datastore.formulas import transform_problems
from datastore.records import Output, Parameter, Transform, Transformer
from datastore.text import comparison_form, prose_problem, text_problem

MAX_KEY = 128
MAX_LABEL = 256
MAX_DESCRIPTION = 2048
MAX_FORMULA = 16384
MAX_ENTRIES = 200


def transformer_problems(transformer: Transformer) -> list[FieldProblem]:
    """Every broken rule, each with its path below `transformer`.

    Formulas are looked at where the structure around them is right.
    """
    problems = _structure_problems(transformer) or transform_problems(transformer)
    return _located(["transformer"], problems)


def _structure_problems(transformer: Transformer) -> list[FieldProblem]:
    outputs = [output for transform in transformer.transforms for output in transform.outputs]
    problems = [
        *_sequence_problems("parameters", transformer.parameters),
        *_key_problems("parameters", [parameter.key for parameter in transformer.parameters]),
        *_sequence_problems("transforms", transformer.transforms),
        *_key_problems("transforms", [output.key for output in outputs if output.key is not None]),
    ]
    for n, parameter in enumerate(transformer.parameters):
        problems += _located(["parameters", str(n)], _column_problems(parameter))
    for n, transform in enumerate(transformer.transforms):
        problems += _located(["transforms", str(n)], _transform_problems(transform))
    if not transformer.transforms:
        problems.append(FieldProblem(["transforms"], "must not be empty"))
    return problems


def _located(path: list[str], problems: Iterable[FieldProblem]) -> list[FieldProblem]:
    return [replace(problem, path=[*path, *problem.path]) for problem in problems]


def _sequence_problems(field: str, entries: Sequence[Parameter | Transform]) -> list[FieldProblem]:
    """Indexes are 0, 1, 2, ... in the order given."""
    problems = [
        FieldProblem([field, str(n), "index"], f"must be {n}, is {entry.index}")
        for n, entry in enumerate(entries)
        if entry.index != n
    ]
    if len(entries) > MAX_ENTRIES:
        problems.append(FieldProblem([field], f"at most {MAX_ENTRIES} are allowed"))
    return problems


def _key_problems(field: str, keys: Iterable[str]) -> list[FieldProblem]:
    repeated = Counter(map(comparison_form, keys))
    return [
        FieldProblem([field], f"the key {key!r} is given {count} times")
        for key, count in repeated.items()
        if count > 1
    ]


def _column_problems(column: Parameter | Output) -> list[FieldProblem]:
    found = (
        ("key", None if column.key is None else text_problem(column.key, MAX_KEY)),
        ("label", prose_problem(column.label or "", MAX_LABEL)),
        ("description", prose_problem(column.description or "", MAX_DESCRIPTION)),
    )
    return [FieldProblem([field], message) for field, message in found if message]


def _transform_problems(transform: Transform) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    if not transform.formula.strip():
        problems.append(FieldProblem(["formula"], "must not be empty"))
    elif message := prose_problem(transform.formula, MAX_FORMULA):
        problems.append(FieldProblem(["formula"], message))
    if len(transform.outputs) != 1:
        message = f"must hold exactly one output, holds {len(transform.outputs)}"
        problems.append(FieldProblem(["outputs"], message))
    for n, output in enumerate(transform.outputs):
        if output.index != n:
            path = ["outputs", str(n), "index"]
            problems.append(FieldProblem(path, f"must be {n}, is {output.index}"))
        problems += _located(["outputs", str(n)], _column_problems(output))
    return problems
