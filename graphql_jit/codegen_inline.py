"""Inlined code for fields that are read from attributes at every level."""

from collections.abc import Callable
from keyword import iskeyword
from math import inf

from graphql import GraphQLLeafType, is_leaf_type, is_list_type, is_object_type

from penstock.graphql_jit.answer_bytes import item_bytes
from penstock.graphql_jit.field_source import AttributeSource, MemberSource, TypeNameSource
from penstock.graphql_jit.leaves import odd_value_test
from penstock.graphql_jit.plan import MAX_NESTING, Field, Selection
from penstock.graphql_jit.source_writer import SourceWriter


def is_pure(field: Field, level: int = 0) -> bool:
    """Return whether a field of ordinary values can be read without a call or an await."""
    if isinstance(field.source, TypeNameSource):
        return True
    if not isinstance(field.source, AttributeSource | MemberSource) or level > MAX_NESTING:
        return False
    if field.definition.args or (
        isinstance(field.source, MemberSource) and field.parent_field is None
    ):
        # The root values of schemas built with graphql-core alone are mostly functions.
        return False
    if is_leaf_type(field.named_type):
        return True
    if not is_object_type(field.named_type) or field.named_type.is_type_of is not None:
        return False
    below = field.selections[field.named_type.name].fields
    return all(is_pure(each, level + len(field.types)) for each in below)


def read_expression(field: Field, source: str) -> str:
    """Return the expression that reads a field of the object in the variable `source`."""
    match field.source:
        case TypeNameSource(text):
            return repr(text)
        case AttributeSource(name):
            return _attribute(source, name)
        case MemberSource(name):
            return f"({source}.get({name!r}) if {source}_m else {_attribute(source, name)})"
        case _:
            raise TypeError("only what is pure has an expression")


def _attribute(source: str, name: str) -> str:
    return f"getattr({source}, {name!r})" if iskeyword(name) else f"{source}.{name}"


def reads_mapping(selection: Selection) -> bool:
    """Return whether the objects of a selection may also be mappings."""
    return any(isinstance(field.source, MemberSource) for field in selection.fields)


def write_pure(writer: SourceWriter, field: Field, source: str) -> str:
    """Write the reading and checking of a pure field; return the expression of its answer.

    The code raises where a value is not what inlined code handles.
    """
    value = read_expression(field, source)
    if isinstance(field.source, TypeNameSource):
        return value
    held = writer.new_name("v")
    writer.line(f"{held} = {value}")
    return _write_value(writer, field, 0, held)


def write_checked(writer: SourceWriter, value: str, others: Callable[[], None]) -> None:
    """Write the check that a value is a plain object; `others` writes a jump for other values.

    Most lists hold objects of one type, so a loop only checks a type that differs from the last
    one.
    """
    seen = writer.loop_variable("k")
    if seen is None:
        _write_type_lookup(writer, value, others)
        return
    with writer.block(f"if type({value}) is not {seen}:"):
        _write_type_lookup(writer, value, others)
        writer.line(f"{seen} = type({value})")


def _write_type_lookup(writer: SourceWriter, value: str, others: Callable[[], None]) -> None:
    with writer.block(f"if type({value}) not in PLAIN and not PLAIN.admits({value}):"):
        others()


def _write_value(writer: SourceWriter, field: Field, depth: int, value: str) -> str:
    kind, nullable = field.types[depth], field.nullable[depth]
    if is_leaf_type(kind):
        write_leaf(writer, kind, value, nullable=nullable)
        return value
    result = writer.new_name("r")
    if nullable:
        with writer.block(f"if {value} is None:"):
            writer.line(f"{result} = None")
        with writer.block("else:"):
            _write_composite(writer, field, depth, value, result)
    else:
        _write_composite(writer, field, depth, value, result)
    return result


def _write_composite(
    writer: SourceWriter, field: Field, depth: int, value: str, result: str
) -> None:
    if is_list_type(field.types[depth]):
        write_list_check(writer, value)
        write_count(writer, field, depth + 1, value)
        whole = writer.list_function(field, depth + 1)
        if whole is None:
            _write_items(writer, field, depth, value, result)
            return
        writer.line(f"{result} = {whole}({value})")
        with writer.block(f"if {result} is None:"):
            _write_items(writer, field, depth, value, result)
        return
    write_checked(writer, value, lambda: writer.line("raise Odd"))
    selection = next(iter(field.selections.values()))
    write_mapping_test(writer, selection, value)
    entries = [(each.key, write_pure(writer, each, value)) for each in selection.fields]
    writer.line(f"{result} = {dict_display(entries)}")


def _write_items(writer: SourceWriter, field: Field, depth: int, value: str, result: str) -> None:
    item = writer.new_name("v")
    writer.line(f"{result} = []")
    with writer.loop(f"for {item} in {value}:"):
        found = _write_value(writer, field, depth + 1, item)
        writer.line(f"{result}.append({found})")


def write_list_check(writer: SourceWriter, value: str) -> None:
    with writer.block(f"if type({value}) is not list and type({value}) is not tuple:"):
        writer.line("raise Odd")


def write_count(writer: SourceWriter, field: Field, depth: int, values: str) -> None:
    """Write the counting of a list's values before they are completed; it raises for too many."""
    writer.line("m = run.meter")
    writer.line(f"m.values += len({values}) * {_values_of_item(field, depth)}")
    most_bytes = item_bytes(field, depth)
    factor = f"len({values}) * {most_bytes}"
    writer.line(f"m.bound += {writer.constant(inf, 'inf') if most_bytes == inf else factor}")
    with writer.block("if m.values > m.most:"):
        writer.line("raise TooLarge")


def _values_of_item(field: Field, depth: int) -> int:
    """Return the number of values of an item, without those in lists below it."""
    is_inner = is_list_type(field.types[depth])
    return 1 if is_inner else 1 + _most_values(field)


def _most_values(field: Field) -> int:
    """Return the most values of an object of a field; a leaf has none."""
    return max(map(_count_values, field.selections.values()), default=0)


def _count_values(selection: Selection) -> int:
    fields = selection.fields
    return len(fields) + sum(_most_values(each) for each in fields if len(each.types) == 1)


def write_mapping_test(writer: SourceWriter, selection: Selection, source: str) -> None:
    """Write the test that expressions of `read_expression` use for mappings."""
    if reads_mapping(selection):
        writer.line(f"{source}_m = isinstance({source}, Mapping)")


def write_leaf(writer: SourceWriter, kind: GraphQLLeafType, value: str, *, nullable: bool) -> None:
    """Write the coercion of the leaf value in a variable; it raises for values of other types."""
    coerced = writer.coercion_name(kind)
    odd = odd_value_test(kind)
    tests = [f"{value} is not None"] if nullable else []
    if odd is not None:
        tests.append(f"({odd.format(v=value)})")
    if tests:
        with writer.block(f"if {' and '.join(tests)}:"):
            writer.line(f"{value} = {coerced}({value})")
    else:
        writer.line(f"{value} = {coerced}({value})")


def dict_display(entries: list[tuple[str, str]]) -> str:
    return "{" + ", ".join(f"{key!r}: {value}" for key, value in entries) + "}"
