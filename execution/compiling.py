"""From a plan to Python functions."""

from asyncio import Future, Task
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import iscoroutine
from types import CoroutineType
from typing import Any, Final, TypeAlias

from graphql import OperationType
from graphql.execution.execute import assume_not_awaitable

from penstock.execution.completing import Completions
from penstock.execution.fields import Selection
from penstock.execution.infos import FieldInfo, TypeInfo
from penstock.execution.leaves import PLAIN, Odd
from penstock.execution.options import Options
from penstock.execution.run import Run
from penstock.execution.waiting import Raised, entries_of
from penstock.execution.writer import Writer

Step: TypeAlias = Callable[[Any, Run], dict[str, Any]]

WAITING: Final = frozenset((CoroutineType, Future, Task))
"""The types of what almost every resolver that is awaited gives; others are found out later."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An operation as functions; the next step begins when the one before is settled."""

    steps: tuple[Step, ...]


def compiled(root: Selection, kind: OperationType, options: Options) -> Plan:
    """Compile a planned operation; a mutation has a step for each of its fields."""
    writer = Writer(_names(options), options.coercions, options.lists)
    completions = Completions(writer, options.type_resolver)
    parts = _root_field_by_field(root) if kind is OperationType.MUTATION else (root,)
    names = [completions.root(part) for part in parts]
    functions = writer.functions()
    for field, level in completions.levels(functions).items():
        field.level = level
    return Plan(tuple(functions(name) for name in names))


def _root_field_by_field(root: Selection) -> tuple[Selection, ...]:
    return tuple(
        Selection(root.type, {field.key: root.grouped[field.key]}, (field,), None)
        for field in root.fields
    )


def _names(options: Options) -> dict[str, Any]:
    return {
        "FieldInfo": FieldInfo,
        "Mapping": Mapping,
        "Odd": Odd,
        "PLAIN": PLAIN,
        "Raised": Raised,
        "TypeInfo": TypeInfo,
        "entries_of": entries_of,
        "WAITING": frozenset() if options.is_awaitable is assume_not_awaitable else WAITING,
        "unasked": _unasked,
    }


def _unasked(value: object) -> None:
    """Drop an answer of unknown kind: the question is asked again."""
    if iscoroutine(value):
        value.close()
