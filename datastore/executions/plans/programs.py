"""The program of a plan, which reads paths of groups as the datastore does."""

from collections.abc import Mapping

from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import parse_group_path
from penstock.datastore.text import invisible_character_problem
from penstock.formula.core.datasets import KeyedRows
from penstock.transform.plan import TransformPlan
from penstock.transform.program import Program


def compile_program(plan: TransformPlan, data: Mapping[str, KeyedRows]) -> Program:
    """Compile a plan with the rows of its datasets; raises InputRefused as Program does."""
    return Program(plan, data, _parse_group)


def _parse_group(text: str) -> str:
    """Parse the group of a row, which need not be there: its names are held to those of new ones.

    Raises ValueError.
    """
    try:
        path = parse_group_path(text)
    except BadArgument as error:
        raise ValueError(error.message) from None
    if problem := invisible_character_problem(path):
        raise ValueError(f"The group path {problem}.")
    return path
