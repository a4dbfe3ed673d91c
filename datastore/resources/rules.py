"""The rules of a resource's content, which are all checked before anything is written."""

from asyncio import to_thread
from collections.abc import Sequence
from typing import TypeVar

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.records import Resource
from penstock.datastore.table.layout import Kind
from penstock.datastore.tag_search.tags import tag_problems
from penstock.datastore.text import prose_problem, text_problem
from penstock.formula.checking.calculation_library import Library

R = TypeVar("R", bound=Resource)

MAX_NAME = 128
MAX_DESCRIPTION = 8192


async def check(
    kind: Kind[R], resource: R, library: Library, noted: Sequence[FieldProblem] = ()
) -> None:
    """Raise Invalid with the problems `noted` before, and every broken rule of the resource.

    Its formulas may call the calculations of the library.
    """
    found = (
        ("name", text_problem(resource.name, MAX_NAME)),
        ("description", prose_problem(resource.description or "", MAX_DESCRIPTION)),
    )
    problems = [*noted, *(FieldProblem([field], message) for field, message in found if message)]
    problems += tag_problems(resource.tags)
    # Many or unusual formulas take long to parse.
    problems += await to_thread(kind.problems, resource, library)
    if problems:
        raise Invalid(problems)
