"""The rules of a transformer: contiguous indexes, unique keys, one output for each transform."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.checks import NO_LIBRARY, formula_text_problem, transform_problems
from penstock.datastore.records import Output, Parameter, Transform, Transformer
from penstock.datastore.text import comparison_form, line_problem, multiline_problem
from penstock.formula.checking.calculation_library import CalculationLibrary

MAX_KEY = 128
MAX_LABEL = 256
MAX_DESCRIPTION = 2048
MAX_ENTRIES = 200


def transformer_problems(
    transformer: Transformer, library: CalculationLibrary = NO_LIBRARY
) -> list[FieldProblem]:
    """Check a transformer; return every broken rule with its path below `transformer`.

    Formulas are checked only if the parameters are valid. They may call the calculations of the
    library.
    """
    problems = count_problems(
        parameters=transformer.parameters, transforms=transformer.transforms
    ) or _structure_problems(transformer)
    if not any(problem.path[0] == "parameters" or len(problem.path) == 1 for problem in problems):
        problems += transform_problems(transformer, library)
    return prefix_paths(["transformer"], problems)


def _structure_problems(transformer: Transformer) -> list[FieldProblem]:
    problems = [
        *sequence_problems("parameters", transformer.parameters),
        *key_problems(
            (["parameters", str(n), "key"], parameter.key)
            for n, parameter in enumerate(transformer.parameters)
        ),
        *sequence_problems("transforms", transformer.transforms),
        *key_problems(
            (["transforms", str(n), "outputs", str(m), "key"], output.key)
            for n, transform in enumerate(transformer.transforms)
            for m, output in enumerate(transform.outputs)
        ),
    ]
    for n, parameter in enumerate(transformer.parameters):
        problems += prefix_paths(["parameters", str(n)], column_problems(parameter))
    for n, transform in enumerate(transformer.transforms):
        problems += prefix_paths(["transforms", str(n)], _transform_problems(transform))
    if not transformer.transforms:
        problems.append(FieldProblem(["transforms"], "must not be empty"))
    return problems


def count_problems(**lists: Sequence[object]) -> list[FieldProblem]:
    """Report each list that has too many entries; its entries are then not checked at all."""
    return [
        FieldProblem([field], f"at most {MAX_ENTRIES} are allowed")
        for field, entries in lists.items()
        if len(entries) > MAX_ENTRIES
    ]


def prefix_paths(path: list[str], problems: Iterable[FieldProblem]) -> list[FieldProblem]:
    """Put `path` before the path of each problem."""
    return [replace(problem, path=[*path, *problem.path]) for problem in problems]


def sequence_problems(
    field: str, entries: Sequence[Parameter | Output] | Sequence[Transform]
) -> list[FieldProblem]:
    """Report each entry whose index is not its position: 0, 1, 2, ..."""
    return [
        FieldProblem([field, str(n), "index"], f"must be {n}, is {entry.index}")
        for n, entry in enumerate(entries)
        if entry.index != n
    ]


def key_problems(keys: Iterable[tuple[list[str], str | None]]) -> list[FieldProblem]:
    """Report each key that an earlier entry already has; entries without a key are skipped."""
    seen: set[str] = set()
    problems: list[FieldProblem] = []
    for path, key in keys:
        if key is None or len(key) > MAX_KEY:
            continue
        form = comparison_form(key)
        if form in seen:
            problems.append(FieldProblem(path, f"the key {key!r} is given before"))
        seen.add(form)
    return problems


def column_problems(column: Parameter | Output) -> list[FieldProblem]:
    """Check the texts of one column; each problem has its path below the column."""
    found = (
        ("key", None if column.key is None else line_problem(column.key, MAX_KEY)),
        ("label", multiline_problem(column.label or "", MAX_LABEL)),
        ("description", multiline_problem(column.description or "", MAX_DESCRIPTION)),
    )
    return [FieldProblem([field], message) for field, message in found if message]


def _transform_problems(transform: Transform) -> list[FieldProblem]:
    problems: list[FieldProblem] = []
    if message := formula_text_problem(transform.formula):
        problems.append(FieldProblem(["formula"], message))
    if len(transform.outputs) != 1:
        message = f"must hold exactly one output, holds {len(transform.outputs)}"
        problems.append(FieldProblem(["outputs"], message))
    for n, output in enumerate(transform.outputs):
        if output.index != n:
            path = ["outputs", str(n), "index"]
            problems.append(FieldProblem(path, f"must be {n}, is {output.index}"))
        problems += prefix_paths(["outputs", str(n)], column_problems(output))
    return problems
