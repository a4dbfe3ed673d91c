"""The rows of a request, which are JSON objects."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.schema.core.scalars import JSON


def require_objects(rows: list[JSON]) -> Sequence[Mapping[str, Any]]:
    """Return the rows; raises Invalid with the place of each that is no object."""
    found = [row for row in rows if isinstance(row, dict)]
    if len(found) < len(rows):
        places = [n for n, row in enumerate(rows) if not isinstance(row, dict)]
        raise Invalid([FieldProblem(["rows", str(n)], "must be an object") for n in places])
    return found
