"""The outputs of a pipeline that become the columns and keys of a dataset, and their rules."""

from collections.abc import Sequence
from typing import Final

from penstock.datastore.datasets.csv import dataset_problems
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import (
    DatasetColumn,
    DatasetContent,
    DatasetTarget,
    Pipeline,
    Transformer,
)

_PATH: Final = ("transformer", "dataset")


def target_columns(transformer: Transformer) -> tuple[DatasetColumn, ...]:
    """The columns of the dataset: the outputs, by their keys."""
    outputs = [output for one in transformer.transforms for output in one.outputs]
    return tuple(
        DatasetColumn(name=one.key or "", description=one.description, type=one.type)
        for one in outputs
    )


def target_problems(pipeline: Pipeline) -> list[FieldProblem]:
    """Check the outputs that become the columns and keys of a dataset."""
    transformer, target = pipeline.transformer, pipeline.transformer.dataset
    if target is None:
        return []
    if transformer.rows is not None:
        message = "a pipeline keeps rows or writes a dataset, not both"
        return [FieldProblem([*_PATH], message)]
    columns = target_columns(transformer)
    if not target.key:
        return [FieldProblem([*_PATH, "key"], "must name an output")]
    if not all(one.name for one in columns):
        message = "every output that is written to a dataset needs a key"
        return [FieldProblem([*_PATH], message)]
    return [
        _in_terms_of_outputs(one, target) for one in dataset_problems(_content(target, columns))
    ]


def _in_terms_of_outputs(problem: FieldProblem, target: DatasetTarget) -> FieldProblem:
    """The problem of a column as one of the output, or of the target, that it is made of."""
    _, field, *rest = problem.path
    if field == "columns":
        message = f"as columns of a dataset: {problem.message}"
        place = [*_PATH] if not rest else ["transformer", "transforms", rest[0], "outputs", "0"]
        return FieldProblem([*place, *({"name": "key"}.get(one, one) for one in rest[1:])], message)
    place = rest or (["0"] if len(target.key) == 1 else [])
    return FieldProblem([*_PATH, "key", *place], problem.message)


def _content(target: DatasetTarget, columns: Sequence[DatasetColumn]) -> DatasetContent:
    return DatasetContent(
        columns=tuple(columns),
        key_column=target.key[0],
        key_columns=target.key if len(target.key) > 1 else (),
        file="",
        checksum="",
        size_bytes=0,
        row_count=0,
    )
