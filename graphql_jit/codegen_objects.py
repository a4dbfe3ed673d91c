"""Generated code for objects: their pure fields first, then the fields that call or await."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TypeAlias

from graphql import is_leaf_type

from penstock.graphql_jit.arguments import parameters_of
from penstock.graphql_jit.codegen_inline import (
    dict_display,
    is_pure,
    read_expression,
    write_mapping_test,
    write_pure,
)
from penstock.graphql_jit.field_source import (
    DirectSource,
    MemberSource,
    ResolverSource,
    TypeNameSource,
)
from penstock.graphql_jit.leaves import odd_value_test
from penstock.graphql_jit.plan import Field, Selection
from penstock.graphql_jit.source_writer import SourceWriter


def write_call(writer: SourceWriter, field: Field, source: str, place: str, result: str) -> None:
    """Write the call that gets a field's value; it may raise any exception."""
    name, reading = writer.constant(field, "F"), field.source
    info = f"run.info({name}, {place})"
    arguments = f", **arguments_of(run, {name}, {place})" if field.definition.args else ""
    match reading:
        case DirectSource():
            passed = _passed_arguments(writer, field, reading, source, place)
            function = writer.constant(reading.function, "call")
            _write_direct(writer, field, f"{result} = {function}", passed, arguments[2:])
        case ResolverSource(resolve):
            function = writer.constant(resolve, "resolve")
            writer.line(f"{result} = {function}({source}, {info}{arguments})")
        case MemberSource(member):
            if arguments:
                writer.line(f"arguments_of(run, {name}, {place})")
            reader = f"{source}.get({member!r}) if {source}_m"
            writer.line(f"{result} = {reader} else getattr({source}, {member!r}, None)")
            with writer.block(f"if callable({result}):"):
                writer.line(f"{result} = {result}({info}{arguments})")
        case _:
            writer.line(f"{result} = {read_expression(field, source)}")


def _passed_arguments(
    writer: SourceWriter, field: Field, reading: DirectSource, source: str, place: str
) -> tuple[str, ...]:
    """Return what a resolver function gets besides its arguments: the object and the info."""
    passed = [source] if reading.to_self else []
    passed += [f"{parameter}={source}" for parameter in reading.source_names]
    if reading.info_name is not None:
        held = writer.constant(field, "F")
        passed.append(f"{reading.info_name}=FieldInfo(run, {held}, {place})")
    return tuple(passed)


def _write_direct(
    writer: SourceWriter, field: Field, call: str, passed: tuple[str, ...], arguments: str
) -> None:
    """Write a call; in a list, it passes by keyword the arguments made for an earlier object.

    Unpacking a dictionary of arguments is slow in Python.
    """
    every = f"{call}({', '.join([*passed, arguments] if arguments else passed)})"
    field.parameters = parameters_of(field) if field.is_repeated else frozenset()
    if not field.parameters:
        writer.line(every)
        return
    named = [f"{parameter}=g[{parameter!r}]" for parameter in sorted(field.parameters)]
    writer.line(f"g = run.arguments_passed.get({writer.constant(field, 'F')})")
    with writer.block("if g is None:"):
        writer.line(every)
    with writer.block("else:"):
        writer.line(f"{call}({', '.join([*passed, *named])})")


WriteEntry: TypeAlias = Callable[[Field, str], None]


@dataclass(frozen=True, slots=True)
class ObjectSite:
    """The code around an object that is completed.

    `source` is a variable with the object, `place` an expression of its place. `write_odd` writes
    the completion of an odd object, and ends in a jump. `write_answer` writes the use of the
    answer, whose fields may be added later. `write_entry` writes the entry of a batched field for
    the answer in a variable.
    """

    source: str
    place: str
    write_odd: Callable[[], None]
    write_answer: Callable[[str], None]
    write_entry: WriteEntry


def can_raise(selection: Selection) -> bool:
    """Return whether completing an object may fail after its pure fields."""
    return any(
        not field.nullable[0]
        for field in selection.fields
        if not is_pure(field) and not is_batched(field)
    )


def has_calls(selection: Selection) -> bool:
    """Return whether an object has fields that need a place of their own while it is completed."""
    return not all(is_pure(field) or is_batched(field) for field in selection.fields)


def write_object(
    writer: SourceWriter, selection: Selection, body: ObjectSite, complete: Callable[[Field], str]
) -> None:
    """Write the completion of an object.

    `complete` receives each called field and returns the name of the function that completes its
    value.
    """
    source = body.source
    write_mapping_test(writer, selection, source)
    answers: dict[str, str] = {}
    pure = [field for field in selection.fields if is_pure(field)]
    if all(isinstance(field.source, TypeNameSource) for field in pure):
        answers = {field.key: write_pure(writer, field, source) for field in pure}
    else:
        with writer.block("try:"):
            for field in pure:
                answers[field.key] = write_pure(writer, field, source)
        with writer.block("except Exception:"):
            body.write_odd()
    written = dict_display(
        [(field.key, answers.get(field.key, "None")) for field in selection.fields]
    )
    if len(pure) == len(selection.fields):
        body.write_answer(written)
        return
    answer = writer.new_name("d")
    writer.line(f"{answer} = {written}")
    body.write_answer(answer)
    for field in selection.fields:
        if field.key not in answers:
            _write_called_field(writer, field, body, answer, complete)


def is_batched(field: Field) -> bool:
    return isinstance(field.source, DirectSource) and field.source.many is not None


def is_awaited(field: Field) -> bool:
    """Return whether every value of a field is awaited."""
    match field.source:
        case DirectSource(function=function, many=many):
            return many is not None or iscoroutinefunction(function)
        case ResolverSource(resolve):
            return iscoroutinefunction(resolve)
    return False


def _write_called_field(
    writer: SourceWriter,
    field: Field,
    body: ObjectSite,
    answer: str,
    complete: Callable[[Field], str],
) -> None:
    name, function = writer.constant(field, "F"), complete(field)
    if is_batched(field):
        body.write_entry(field, answer)
        return
    place = f"({body.place}, {field.key!r}, {field.parent.name!r})"
    target, result = f"{answer}[{field.key!r}]", writer.new_name("r")
    with writer.block("try:"):
        write_call(writer, field, body.source, place, result)
        with writer.block(f"if type({result}) in WAITING:"):
            writer.line(f"run.waiting_entries({name}).append(({answer}, {body.place}, {result}))")
        if is_leaf_type(field.types[0]):
            write_leaf_answer(writer, field, result, place, target)
        else:
            with writer.block("else:"):
                completed = f"{function}({result}, run, {place})"
                if not function:
                    completed = f"run.complete_value({name}, {result}, {place})"
                writer.line(f"{target} = {completed}")
    with writer.block("except Exception as error:"):
        writer.line(f"{target} = run.record_failure({name}, 0, error, {place})")


def write_leaf_answer(
    writer: SourceWriter, field: Field, result: str, place: str, target: str
) -> None:
    """Write the branches, after an `if`, that store a leaf value in the answer."""
    if field.nullable[0]:
        with writer.block(f"elif {result} is None:"):
            writer.line("pass")
    odd = odd_value_test(field.types[0])
    if odd is not None:
        with writer.block(f"elif not ({odd.format(v=result)}):"):
            writer.line(f"{target} = {result}")
    with writer.block("else:"):
        writer.line(
            f"{target} = run.complete_value({writer.constant(field, 'F')}, {result}, {place})"
        )
