"""The program of a plan, which reads paths of groups as the datastore does."""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from threading import Lock
from typing import Final

import msgspec
from cachetools import LRUCache

from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import new_path_problem, parse_group_path
from penstock.formula.core.datasets import KeyedRows
from penstock.transform.plan import TransformPlan
from penstock.transform.program import Program

KEPT_STEPS: Final = 20_000
"""Operations of one row of all programs that are kept, each formula counted as 20 more."""


def _weight(program: Program) -> int:
    return program.cost + 20 * len(program.headings)


_KEPT: Final = LRUCache[bytes, Program](KEPT_STEPS, _weight)
_LOCK: Final = Lock()


def compile_program(plan: TransformPlan, data: Mapping[str, KeyedRows]) -> Program:
    """Compile a plan with the rows of its datasets; raises InputRefused as Program does.

    The latest programs without datasets are kept, for plans that run again and again.
    """
    if plan.datasets:
        return Program(plan, data, _parse_group)
    digest = sha256(msgspec.json.encode(plan)).digest()
    with _LOCK:
        kept = _KEPT.get(digest)
    if kept is None:
        kept = Program(plan, data, _parse_group)
        with _LOCK, suppress(ValueError):  # it is larger than all that is kept
            _KEPT[digest] = kept
    return kept


def _parse_group(text: str) -> str:
    """Parse the group of a row, which need not be there: its names are held to those of new ones.

    Raises ValueError.
    """
    try:
        path = parse_group_path(text)
    except BadArgument as error:
        raise ValueError(error.message) from None
    if problem := new_path_problem(path):
        raise ValueError(f"The group path {problem}.")
    return path
