"""The rules of a transformer: contiguous indexes, unique keys, one output for each transform."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from datastore.errors import FieldProblem
from datastore.formulas import NO_LIBRARY, transform_problems
from datastore.records import Output, Parameter, Transform, Transformer
from datastore.text import comparison_form, prose_problem, text_problem
from formula.calls import Library

MAX_KEY = 128
MAX_LABEL = 256
MAX_DESCRIPTION = 2048
MAX_FORMULA = 16384
MAX_ENTRIES = 200


def transformer_problems(
    transformer: Transformer, library: Library = NO_LIBRARY
) -> list[FieldProblem]:
    """Every broken rule, each with its path below `transformer`.

    Formulas are looked at where the structure around them is right; they may call what is in the
    library.
    """
    problems = _structure_problems(transformer) or transform_problems(transformer, library)
    return located(["transformer"], problems)


def _structure_problems(transformer: Transformer) -> list[FieldProblem]:
    outputs = [output for transform in transformer.transforms for output in transform.outputs]
    problems = [
        *sequence_problems("parameters", transformer.parameters),
        *key_problems("parameters", [parameter.key for parameter in transformer.parameters]),
        *sequence_problems("transforms", transformer.transforms),
        *key_problems("transforms", [output.key for output in outputs if output.key is not None]),
    ]
    for n, parameter in enumerate(transformer.parameters):
        problems += located(["parameters", str(n)], column_problems(parameter))
    for n, transform in enumerate(transformer.transforms):
        problems += located(["transforms", str(n)], _transform_problems(transform))
    if not transformer.transforms:
        problems.append(FieldProblem(["transforms"], "must not be empty"))
    return problems


def located(path: list[str], problems: Iterable[FieldProblem]) -> list[FieldProblem]:
    """The problems of a part that lies at `path`."""
    return [replace(problem, path=[*path, *problem.path]) for problem in problems]


def sequence_problems(
    field: str, entries: Sequence[Parameter | Output] | Sequence[Transform]
) -> list[FieldProblem]:
    """Indexes are 0, 1, 2, ... in the order given."""
    problems = [
        FieldProblem([field, str(n), "index"], f"must be {n}, is {entry.index}")
        for n, entry in enumerate(entries)
        if entry.index != n
    ]
    if len(entries) > MAX_ENTRIES:
        problems.append(FieldProblem([field], f"at most {MAX_ENTRIES} are allowed"))
    return problems


def key_problems(field: str, keys: Iterable[str]) -> list[FieldProblem]:
    """Keys that users take for the same are given once."""
    repeated = Counter(map(comparison_form, keys))
    return [
        FieldProblem([field], f"the key {key!r} is given {count} times")
        for key, count in repeated.items()
        if count > 1
    ]


def column_problems(column: Parameter | Output) -> list[FieldProblem]:
    """What is wrong with the texts of one column, each with its path below it."""
    found = (
        ("key", None if column.key is None else text_problem(column.key, MAX_KEY)),
        ("label", prose_problem(column.label or "", MAX_LABEL)),
        ("description", prose_problem(column.description or "", MAX_DESCRIPTION)),
    )
    return [FieldProblem([field], message) for field, message in found if message]


def formula_text_problems(formula: str) -> list[FieldProblem]:
    """What is wrong with a formula before it is read."""
    message = prose_problem(formula, MAX_FORMULA) if formula.strip() else "must not be empty"
    return [FieldProblem(["formula"], message)] if message else []


def _transform_problems(transform: Transform) -> list[FieldProblem]:
    problems = formula_text_problems(transform.formula)
    if len(transform.outputs) != 1:
        message = f"must hold exactly one output, holds {len(transform.outputs)}"
        problems.append(FieldProblem(["outputs"], message))
    for n, output in enumerate(transform.outputs):
        if output.index != n:
            path = ["outputs", str(n), "index"]
            problems.append(FieldProblem(path, f"must be {n}, is {output.index}"))
        problems += located(["outputs", str(n)], column_problems(output))
    return problems
