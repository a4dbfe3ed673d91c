"""Generated code for objects: what is pure first, then the fields that call or wait."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TypeAlias

from graphql import is_leaf_type

from penstock.execution.calls import write_call
from penstock.execution.fields import Field, Selection
from penstock.execution.leaves import oddity
from penstock.execution.pure import display, is_pure, write_mapping_test, write_pure
from penstock.execution.reading import Constant, Direct, Resolved
from penstock.execution.writer import Writer

Ask: TypeAlias = Callable[[Field, str], None]


@dataclass(frozen=True, slots=True)
class Body:
    """How the code around an object takes part in it.

    `source` is a variable with the object, `place` an expression of its place. `odd` writes what is
    done with an object that inlined code is not for, ending in a jump; `finish` takes the answer of
    the object, which then grows. `ask` writes how a batched field of the answer in a variable is
    asked for.
    """

    source: str
    place: str
    odd: Callable[[], None]
    finish: Callable[[str], None]
    ask: Ask


def can_raise(selection: Selection) -> bool:
    """Tell whether completing an object may fail after its pure fields."""
    return any(
        not field.nullable[0]
        for field in selection.fields
        if not is_pure(field) and not is_batched(field)
    )


def has_calls(selection: Selection) -> bool:
    """Tell whether an object has fields that have a place of their own while it is completed."""
    return not all(is_pure(field) or is_batched(field) for field in selection.fields)


def write_object(
    writer: Writer, selection: Selection, body: Body, complete: Callable[[Field], str]
) -> None:
    """Write how an object is answered.

    `complete` is told each called field and gives the function that completes its value.
    """
    source = body.source
    write_mapping_test(writer, selection, source)
    answers: dict[str, str] = {}
    pure = [field for field in selection.fields if is_pure(field)]
    if all(isinstance(field.reading, Constant) for field in pure):
        answers = {field.key: write_pure(writer, field, source) for field in pure}
    else:
        with writer.block("try:"):
            for field in pure:
                answers[field.key] = write_pure(writer, field, source)
        with writer.block("except Exception:"):
            body.odd()
    written = display([(field.key, answers.get(field.key, "None")) for field in selection.fields])
    if len(pure) == len(selection.fields):
        body.finish(written)
        return
    answer = writer.local("d")
    writer.line(f"{answer} = {written}")
    body.finish(answer)
    for field in selection.fields:
        if field.key not in answers:
            _write_called(writer, field, body, answer, complete)


def is_batched(field: Field) -> bool:
    return isinstance(field.reading, Direct) and field.reading.many is not None


def is_awaited(field: Field) -> bool:
    """Tell whether what a field gives is awaited, whatever it is."""
    match field.reading:
        case Direct(function=function, many=many):
            return many is not None or iscoroutinefunction(function)
        case Resolved(resolve):
            return iscoroutinefunction(resolve)
    return False


def _write_called(
    writer: Writer, field: Field, body: Body, answer: str, complete: Callable[[Field], str]
) -> None:
    name, function = writer.constant(field, "F"), complete(field)
    if is_batched(field):
        body.ask(field, answer)
        return
    place = f"({body.place}, {field.key!r}, {field.parent.name!r})"
    target, result = f"{answer}[{field.key!r}]", writer.local("r")
    with writer.block("try:"):
        write_call(writer, field, body.source, place, result)
        with writer.block(f"if type({result}) in WAITING:"):
            writer.line(f"run.wait({name}).append(({answer}, {body.place}, {result}))")
        if is_leaf_type(field.types[0]):
            write_leaf_answer(writer, field, result, place, target)
        else:
            with writer.block("else:"):
                completed = f"{function}({result}, run, {place})"
                if not function:
                    completed = f"run.value({name}, {result}, {place})"
                writer.line(f"{target} = {completed}")
    with writer.block("except Exception as error:"):
        writer.line(f"{target} = run.failed({name}, 0, error, {place})")


def write_leaf_answer(writer: Writer, field: Field, result: str, place: str, target: str) -> None:
    """Write branches, after an `if`, that put a leaf value in its place."""
    if field.nullable[0]:
        with writer.block(f"elif {result} is None:"):
            writer.line("pass")
    odd = oddity(field.types[0])
    if odd is not None:
        with writer.block(f"elif not ({odd.format(v=result)}):"):
            writer.line(f"{target} = {result}")
    with writer.block("else:"):
        writer.line(f"{target} = run.value({writer.constant(field, 'F')}, {result}, {place})")
