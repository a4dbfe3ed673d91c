"""Generated code for lists, objects, and objects of abstract types.

In the code, `v` is a value, `p` its place and `out` a list of the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass

from graphql import (
    GraphQLTypeResolver,
    is_abstract_type,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from graphql.execution import default_type_resolver

from penstock.graphql_jit.codegen_inline import write_checked, write_count
from penstock.graphql_jit.codegen_objects import (
    ObjectSite,
    WriteEntry,
    can_raise,
    has_calls,
    is_batched,
    write_object,
)
from penstock.graphql_jit.leaves import odd_value_test
from penstock.graphql_jit.plan import Field, Selection
from penstock.graphql_jit.source_writer import SourceWriter


@dataclass(frozen=True, slots=True)
class CompletionSite:
    """The code around a value `v` that is completed, with expressions of its place and its field's.

    `write_others` writes tests for values that are neither an object nor a list that the code
    handles; they end in jumps. `write_odd` writes the completion of odd values, and ends in a jump.
    `write_answer` writes the use of the answer; `write_entry` is the same as in `ObjectSite`.
    """

    place: str
    field_place: str
    write_odd: Callable[[], None]
    write_answer: Callable[[str], None]
    write_entry: WriteEntry
    write_others: Callable[[], None] = lambda: None


class CompositeWriter:
    """Writes the completion of field values that are not null.

    `complete` receives each called field of their objects and returns the name of the function that
    completes its values.
    """

    def __init__(
        self,
        writer: SourceWriter,
        type_resolver: GraphQLTypeResolver,
        complete: Callable[[Field], str],
    ) -> None:
        self._writer = writer
        self._type_resolver = type_resolver
        self._complete = complete

    def write(self, field: Field, depth: int, site: CompletionSite) -> None:
        """Write the completion of the value `v`, which lies `depth` lists deep."""
        writer, kind = self._writer, field.types[depth]
        if is_list_type(kind):
            with writer.block("if type(v) is not list and type(v) is not tuple:"):
                site.write_others()
                site.write_odd()
            write_count(writer, field, depth + 1, "v")
            function = writer.require_function(self.write_items, field, depth + 1)
            answer = f"{function}(v, run, {site.place}, {site.field_place})"
            whole = writer.list_function(field, depth + 1)
            site.write_answer(answer if whole is None else f"{whole}(v) or {answer}")
            return

        def write_others() -> None:
            site.write_others()
            site.write_odd()

        write_checked(writer, "v", write_others)
        if is_abstract_type(kind):
            self._write_abstract(field, site)
            return
        self._write_object(field, field.selections[field.named_type.name], site)

    def _write_object(self, field: Field, selection: Selection, site: CompletionSite) -> None:
        writer, test = self._writer, selection.type.is_type_of
        if test is not None:
            type_info = f"TypeInfo(run, {writer.constant(field, 'F')}, {site.field_place})"
            writer.line(f"t = {writer.constant(test, 'is_type_of')}(v, {type_info})")
            with writer.block("if t is not True:"):
                writer.line("unasked(t)")
                site.write_odd()
        body = ObjectSite("v", site.place, site.write_odd, site.write_answer, site.write_entry)
        write_object(writer, selection, body, self._complete)

    def _write_abstract(self, field: Field, site: CompletionSite) -> None:
        writer, kind = self._writer, field.named_type
        resolve = kind.resolve_type or self._type_resolver  # type: ignore[attr-defined]
        if resolve is default_type_resolver:
            # It calls functions that may be awaitable, and these cannot be called a second time.
            site.write_odd()
            return
        type_info = f"TypeInfo(run, {writer.constant(field, 'F')}, {site.field_place})"
        function = writer.constant(resolve, "resolve_type")
        writer.line(f"t = {function}(v, {type_info}, {writer.constant(kind, 'T')})")
        table = writer.require_function(self.write_types, field)
        writer.line(f"f = {table}.get(t) if type(t) is str else None")
        with writer.block("if f is None:"):
            writer.line("unasked(t)")
            site.write_odd()
        site.write_answer(f"f(v, run, {site.place}, {site.field_place})")

    def write_types(self, writer: SourceWriter, name: str, field: Field) -> None:
        """Write a table from type name to the function that completes an object of that type."""
        functions = {
            possible: self._write_possible(field, selection)
            for possible, selection in field.selections.items()
        }
        entries = [f"{possible!r}: {function}" for possible, function in functions.items()]
        writer.line(f"{name} = {{{', '.join(entries)}}}")

    def _write_possible(self, field: Field, selection: Selection) -> str:
        writer, name = self._writer, self._writer.new_name("object_")
        held, chosen = writer.constant(field, "F"), writer.constant(selection, "S")
        odd = f"return run.complete_object({held}, {chosen}, v, p)"
        site = CompletionSite(
            "p", "q", lambda: writer.line(odd), writer.assign_answer, entry_writer(writer, "p")
        )
        with writer.function(f"def {name}(v, run, p, q):"):
            self._write_object(field, selection, site)
            writer.line("return a")
        return name

    def write_items(self, writer: SourceWriter, name: str, field: Field, depth: int) -> None:
        """Write the function that completes a list of a field; `q` is the place of the field."""
        with writer.function(f"def {name}(values, run, p, q):"):
            writer.line("out = []")
            waiting = write_waiting_lists(writer, field, depth)
            if waiting:
                writer.line("others = []")
            if is_leaf_type(field.types[depth]):
                with writer.loop("for v in values:"):
                    self._write_leaf_item(field, depth)
            elif has_places(field, depth):
                with writer.loop("for n, v in enumerate(values):"):
                    writer.line("o = (p, n, None)")
                    self._write_item(field, depth, "o", waits=bool(waiting))
            else:
                with writer.loop("for v in values:"):
                    self._write_item(field, depth, "(p, len(out), None)", waits=bool(waiting))
            for entries in waiting:
                writer.line(f"{entries}.extend(entries_of(out, p, values, others))")
            writer.line("return out")

    def _write_leaf_item(self, field: Field, depth: int) -> None:
        writer, kind = self._writer, field.types[depth]
        held = writer.constant(field, "F")
        odd = odd_value_test(kind)
        if odd is not None:
            fine = f"not ({odd.format(v='v')})"
            with writer.block(f"if {'v is None or ' if field.nullable[depth] else ''}{fine}:"):
                writer.line("out.append(v)")
                writer.line("continue")
        writer.line(f"out.append(run.complete_item({held}, {depth}, v, (p, len(out), None)))")

    def _write_item(self, field: Field, depth: int, place: str, *, waits: bool) -> None:
        writer, held = self._writer, self._writer.constant(field, "F")
        site = self._item_site(field, depth, place, waits=waits)
        if not _can_raise(field, depth):
            self.write(field, depth, site)
            return
        with writer.block("try:"):
            self.write(field, depth, site)
        with writer.block("except Exception as error:"):
            writer.line(f"out[n:] = (run.record_failure({held}, {depth}, error, {place}),)")

    def _item_site(self, field: Field, depth: int, place: str, *, waits: bool) -> CompletionSite:
        writer, held = self._writer, self._writer.constant(field, "F")

        def write_put(answer: str) -> None:
            if waits:
                writer.line("others.append(len(out))")
            writer.line(f"out.append({answer})")
            writer.line("continue")

        def write_odd() -> None:
            write_put(f"run.complete_item({held}, {depth}, v, {place})")

        def write_others() -> None:
            if field.nullable[depth]:
                with writer.block("if v is None:"):
                    write_put("None")

        def write_answer(answer: str) -> None:
            writer.line(f"out.append({answer})")

        # The batched fields of all items are recorded together, after the loop.
        return CompletionSite(place, "q", write_odd, write_answer, lambda *_: None, write_others)


def has_places(field: Field, depth: int) -> bool:
    """Return whether the code that completes a value of a field always needs its place."""
    kind = field.types[depth]
    if is_leaf_type(kind):
        return False
    if not is_object_type(kind) or kind.is_type_of is not None:
        return True
    return has_calls(field.selections[kind.name])


def write_waiting_lists(writer: SourceWriter, field: Field, depth: int) -> list[str]:
    """Write variables, before a loop, with the waiting lists of the objects' batched fields."""
    kind = field.types[depth]
    below = field.selections[kind.name].fields if is_object_type(kind) else ()
    fields = [writer.constant(each, "F") for each in below if is_batched(each)]
    for held in fields:
        writer.line(f"w_{held} = run.waiting_entries({held})")
    return [f"w_{held}" for held in fields]


def entry_writer(writer: SourceWriter, place: str) -> WriteEntry:
    """Return a function that writes the entry of a batched field of `v`, outside of a loop."""

    def write_entry(field: Field, answer: str) -> None:
        writer.line(
            f"run.waiting_entries({writer.constant(field, 'F')}).append(({answer}, {place}, v))"
        )

    return write_entry


def loop_entry_writer(writer: SourceWriter, place: str) -> WriteEntry:
    """Return the same as `entry_writer` for loops, with the variables of `write_waiting_lists`."""

    def write_entry(field: Field, answer: str) -> None:
        writer.line(f"w_{writer.constant(field, 'F')}.append(({answer}, {place}, v))")

    return write_entry


def _can_raise(field: Field, depth: int) -> bool:
    if is_list_type(field.types[depth]) or is_abstract_type(field.named_type):
        return True
    selection = field.selections[field.named_type.name]
    return selection.type.is_type_of is not None or can_raise(selection)
