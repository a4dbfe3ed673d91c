"""Generated code that asks a field for its value: a call, or what may turn out to be one."""

from penstock.execution.arguments import parameters_of
from penstock.execution.fields import Field
from penstock.execution.pure import getter
from penstock.execution.reading import Direct, Member, Resolved
from penstock.execution.writer import Writer


def write_call(writer: Writer, field: Field, source: str, place: str, result: str) -> None:
    """Write how a field is asked for its value, which may raise anything."""
    name, reading = writer.constant(field, "F"), field.reading
    info = f"run.info({name}, {place})"
    arguments = f", **run.arguments({name}, {place})" if field.definition.args else ""
    match reading:
        case Direct():
            passed = _passed(writer, field, reading, source, place)
            function = writer.constant(reading.function, "call")
            _write_direct(writer, field, f"{result} = {function}", passed, arguments[2:])
        case Resolved(resolve):
            function = writer.constant(resolve, "resolve")
            writer.line(f"{result} = {function}({source}, {info}{arguments})")
        case Member(member):
            if arguments:
                writer.line(f"run.arguments({name}, {place})")
            reader = f"{source}.get({member!r}) if {source}_m"
            writer.line(f"{result} = {reader} else getattr({source}, {member!r}, None)")
            with writer.block(f"if callable({result}):"):
                writer.line(f"{result} = {result}({info}{arguments})")
        case _:
            writer.line(f"{result} = {getter(field, source)}")


def _passed(
    writer: Writer, field: Field, reading: Direct, source: str, place: str
) -> tuple[str, ...]:
    """Give what a function below Strawberry's wrapping is passed beside its arguments."""
    passed = [source] if reading.to_self else []
    passed += [f"{parameter}={source}" for parameter in reading.source_names]
    if reading.info_name is not None:
        held = writer.constant(field, "F")
        passed.append(f"{reading.info_name}=FieldInfo(run, {held}, {place})")
    return tuple(passed)


def _write_direct(
    writer: Writer, field: Field, call: str, passed: tuple[str, ...], arguments: str
) -> None:
    """Write a call; one that is repeated passes by name what was made for another object.

    Python takes its time to unpack arguments.
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
