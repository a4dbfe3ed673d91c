"""The rules of a transformer: contiguous indexes, unique keys, one output for each transform."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.checks import NO_LIBRARY, formula_text_problem, transform_problems
from penstock.datastore.records import (
    Output,
    Parameter,
    RowKeeping,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.text import comparison_form, line_problem, multiline_problem
from penstock.formula.checking.calculation_library import CalculationLibrary

MAX_KEY = 128
MAX_LABEL = 256
MAX_DESCRIPTION = 2048
MAX_ENTRIES = 200
MAX_ROW_KEY = 8
MAX_KEEP_DAYS = 36_500


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
    if transformer.rows is not None:
        problems += prefix_paths(["rows"], _row_problems(transformer.rows, transformer))
    return problems


def _row_problems(rows: RowKeeping, transformer: Transformer) -> list[FieldProblem]:
    """Check which outputs identify the rows that are kept."""
    outputs = [output for one in transformer.transforms for output in one.outputs]
    types = {output.key: output.type for output in outputs if output.key is not None}
    problems: list[FieldProblem] = []
    if not 1 <= len(rows.key) <= MAX_ROW_KEY:
        problems.append(FieldProblem(["key"], f"must name 1 to {MAX_ROW_KEY} outputs"))
    if len(set(rows.key)) < len(rows.key):
        problems.append(FieldProblem(["key"], "names an output twice"))
    named = [(["key", str(n)], key) for n, key in enumerate(rows.key)]
    named += [([field], key) for field, key in (("time", rows.time), ("group", rows.group)) if key]
    problems += [
        FieldProblem(path, f"no output has the key {key[:MAX_KEY]!r}")
        for path, key in named
        if key not in types
    ]
    if rows.time in types and types[rows.time] is not ValueType.TIMESTAMP:
        problems.append(FieldProblem(["time"], "must be an output of the type TIMESTAMP"))
    if rows.group in types and types[rows.group] is not ValueType.STRING:
        problems.append(FieldProblem(["group"], "must be an output of the type STRING"))
    if rows.keep_days is not None and not 1 <= rows.keep_days <= MAX_KEEP_DAYS:
        problems.append(FieldProblem(["keepDays"], f"must be 1 to {MAX_KEEP_DAYS}"))
    if any(output.key is None or output.key.startswith("_") for output in outputs):
        message = "every output of rows that are kept needs a key that does not begin with '_'"
        problems.append(FieldProblem([], message))
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
