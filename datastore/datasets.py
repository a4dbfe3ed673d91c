"""The rules of a reference dataset: named and typed columns, one of them the key."""

from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import DatasetColumn, DatasetContent
from penstock.datastore.text import prose_problem, text_problem

MAX_COLUMNS = 50
MAX_NAME = 128
MAX_DESCRIPTION = 512
MAX_BYTES = 4 * 1024 * 1024
MAX_INLINE = 200_000
MAX_ROWS = 50_000
MAX_CELLS = 250_000


def dataset_problems(content: DatasetContent) -> list[FieldProblem]:
    """Every broken rule of the columns, each with its path in the input."""
    if not 1 <= len(content.columns) <= MAX_COLUMNS:
        message = f"must be 1 to {MAX_COLUMNS}, are {len(content.columns)}"
        return [FieldProblem(["content", "columns"], message)]
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    for n, column in enumerate(content.columns):
        found = {
            "name": _name_problem(column, seen),
            "description": prose_problem(column.description or "", MAX_DESCRIPTION),
        }
        seen.add(column.name)
        problems += [
            FieldProblem(["content", "columns", str(n), field], message)
            for field, message in found.items()
            if message
        ]
    if content.key_column not in seen:
        message = f"there is no column {content.key_column[:60]!r}"
        problems.append(FieldProblem(["content", "keyColumn"], message))
    return problems


def _name_problem(column: DatasetColumn, seen: set[str]) -> str | None:
    if column.name in seen:
        return "is given twice"
    return text_problem(column.name, MAX_NAME)
