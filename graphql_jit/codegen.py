"""Turns a plan into Python functions: one for each step, and others that complete field values.

In the generated code, `v` is a value, `p` its place, `d` an object of the answer and `a` an answer.
"""

from asyncio import Future, Task
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutine
from types import CoroutineType
from typing import Any, Final, TypeAlias

from graphql import GraphQLTypeResolver, OperationType, is_leaf_type
from graphql.execution.execute import assume_not_awaitable

from penstock.graphql_jit.answer_bytes import selection_bytes
from penstock.graphql_jit.answer_meter import AnswerTooLarge
from penstock.graphql_jit.arguments import FieldInfo, TypeInfo, arguments_of
from penstock.graphql_jit.codegen_composites import (
    CompletionSite,
    CompositeWriter,
    entry_writer,
    has_places,
    loop_entry_writer,
    write_waiting_lists,
)
from penstock.graphql_jit.codegen_objects import (
    ObjectSite,
    is_awaited,
    write_leaf_answer,
    write_object,
)
from penstock.graphql_jit.leaves import PLAIN, OddValue
from penstock.graphql_jit.plan import CompleteLevel, ExecutionOptions, Field, Place, Selection
from penstock.graphql_jit.source_writer import SourceWriter
from penstock.graphql_jit.state import (
    OperationState,
    PlanStep,
    RaisedError,
    WaitingEntry,
    entries_of,
)

CompleteValue: TypeAlias = Callable[[Any, OperationState, Place], Any]


class CompletionWriter:
    """Writes the functions that complete the values of called fields, each when first needed."""

    def __init__(self, writer: SourceWriter, type_resolver: GraphQLTypeResolver) -> None:
        self._writer = writer
        self._composites = CompositeWriter(writer, type_resolver, self.value_function)
        self._levels: dict[Field, str] = {}
        self._values: dict[Field, str] = {}

    def root_function(self, selection: Selection) -> str:
        """Return the name of the function that takes a root object and the run and answers it."""
        return self._writer.require_function(self.write_root, selection)

    def value_function(self, field: Field) -> str:
        """Return the name of the function that takes a field's value, the run and the place.

        That function returns the answer or raises. Leaf values and fields that are always awaited
        need none: their name is empty.
        """
        if is_awaited(field):
            self._levels[field] = self._writer.require_function(self.write_level, field)
            return ""
        if is_leaf_type(field.types[0]):
            self._values[field] = ""
            return ""
        name = self._values[field] = self._writer.require_function(self.write_value, field)
        return name

    def level_functions(self, functions: Callable[[str], Any]) -> dict[Field, CompleteLevel]:
        """Return for each called field the function that completes all its values of one level."""
        found: dict[Field, CompleteLevel] = {
            field: functions(name) for field, name in self._levels.items()
        }
        for field, name in self._values.items():
            found[field] = partial(_complete_each, field, functions(name) if name else None)
        return found

    def write_root(self, writer: SourceWriter, name: str, selection: Selection) -> None:
        odd = f"return run.complete_root({writer.constant(selection, 'S')}, v)"
        body = ObjectSite(
            "v", "p", lambda: writer.line(odd), writer.assign_answer, entry_writer(writer, "p")
        )
        with writer.function(f"def {name}(v, run):"):
            writer.line("p = None")
            write_object(writer, selection, body, self.value_function)
            writer.line("return a")

    def write_value(self, writer: SourceWriter, name: str, field: Field) -> None:
        odd = f"return run.complete_value({writer.constant(field, 'F')}, v, p)"
        site = CompletionSite(
            "p", "p", lambda: writer.line(odd), writer.assign_answer, entry_writer(writer, "p")
        )
        with writer.function(f"def {name}(v, run, p):"):
            if field.nullable[0]:
                with writer.block("if v is None:"):
                    writer.line("return None")
            self._composites.write(field, 0, site)
            writer.line("return a")

    def write_level(self, writer: SourceWriter, name: str, field: Field) -> None:
        """Write the function that completes the awaited values of a level; it records errors."""
        held, target = writer.constant(field, "F"), f"d[{field.key!r}]"
        place = f"(q, {field.key!r}, {field.parent.name!r})"
        with writer.function(f"def {name}(entries, values, run):"):
            write_waiting_lists(writer, field, 0)
            with writer.loop("for (d, q, _), v in zip(entries, values, strict=True):"):
                if has_places(field, 0):
                    writer.line(f"p = {place}")
                    place = "p"
                with writer.block("try:"):
                    self._write_awaited(field, held, target, place)
                with writer.block("except Exception as error:"):
                    writer.line(f"{target} = run.record_late_error({held}, error, {place})")

    def _write_awaited(self, field: Field, held: str, target: str, place: str) -> None:
        writer = self._writer

        def write_raise() -> None:
            with writer.block("if type(v) is Raised:"):
                writer.line("raise v.error")

        def write_odd() -> None:
            writer.line(f"{target} = run.complete_value({held}, v, {place})")
            writer.line("continue")

        def write_others() -> None:
            write_raise()
            with writer.block("if v is None:"):
                writer.line("continue") if field.nullable[0] else write_odd()

        def write_answer(answer: str) -> None:
            writer.line(f"{target} = {answer}")

        if is_leaf_type(field.types[0]):
            write_raise()
            write_leaf_answer(writer, field, "v", place, target)
        else:
            site = CompletionSite(
                place,
                place,
                write_odd,
                write_answer,
                loop_entry_writer(writer, place),
                write_others,
            )
            self._composites.write(field, 0, site)


def _complete_each(
    field: Field,
    complete: CompleteValue | None,
    entries: list[WaitingEntry],
    values: list[Any],
    run: OperationState,
) -> None:
    """Complete the values of a level one by one, for a field that is rarely awaited."""
    for (answer, above, _), value in zip(entries, values, strict=True):
        place = (above, field.key, field.parent.name)
        try:
            if type(value) is RaisedError:
                raise value.error
            answer[field.key] = (
                run.complete_value(field, value, place)
                if complete is None
                else complete(value, run, place)
            )
        except Exception as error:
            answer[field.key] = None
            run.record_late_error(field, error, place)


WAITING: Final = frozenset((CoroutineType, Future, Task))
"""The types of nearly all awaitables that resolvers return; others are recognised later."""


@dataclass(frozen=True, slots=True)
class OperationPlan:
    """A compiled operation: its steps run in order, each after all awaitables of the one before.

    `most_bytes` are those of an answer, without the items of its lists.
    """

    steps: tuple[PlanStep, ...]
    most_bytes: float


def compile_operation(
    root: Selection, kind: OperationType, options: ExecutionOptions, pause: Callable[[], None]
) -> OperationPlan:
    """Compile a planned operation piece by piece; a mutation has one step for each root field."""
    writer = SourceWriter(_namespace(options), options.coercions, options.lists)
    completions = CompletionWriter(writer, options.type_resolver)
    parts = _root_field_by_field(root) if kind is OperationType.MUTATION else (root,)
    names = [completions.root_function(part) for part in parts]
    functions = writer.compile_functions(pause)
    for field, level in completions.level_functions(functions).items():
        field.complete_level = level
    return OperationPlan(tuple(functions(name) for name in names), selection_bytes(root))


def _root_field_by_field(root: Selection) -> tuple[Selection, ...]:
    return tuple(
        Selection(root.type, {field.key: root.grouped[field.key]}, (field,))
        for field in root.fields
    )


def _namespace(options: ExecutionOptions) -> dict[str, Any]:
    return {
        "FieldInfo": FieldInfo,
        "arguments_of": arguments_of,
        "Mapping": Mapping,
        "Odd": OddValue,
        "PLAIN": PLAIN,
        "Raised": RaisedError,
        "TooLarge": AnswerTooLarge,
        "TypeInfo": TypeInfo,
        "entries_of": entries_of,
        "WAITING": frozenset() if options.is_awaitable is assume_not_awaitable else WAITING,
        "unasked": _close_coroutine,
    }


def _close_coroutine(value: object) -> None:
    """Discard the answer of a type resolver that code cannot use; graphql-core calls it again."""
    if iscoroutine(value):
        value.close()
