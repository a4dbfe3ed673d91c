"""Generated functions that complete the values of called fields, or whole levels of them.

In the code, `v` is a value, `p` its place, `d` an object of the answer and `a` an answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from graphql import GraphQLTypeResolver, is_abstract_type, is_leaf_type, is_list_type
from graphql.execution import default_type_resolver

from execution.fields import Field, Level, Place, Selection
from execution.leaves import oddity
from execution.objects import (
    Body,
    can_raise,
    is_awaited,
    is_batched,
    waiting_name,
    write_leaf_answer,
    write_object,
)
from execution.run import Entry, Raised, Run
from execution.writer import Writer

Complete: TypeAlias = Callable[[Any, Run, Place], Any]


@dataclass(frozen=True, slots=True)
class Site:
    """Where code completes a value `v`: the variables of its place and of its field's place.

    `odd` writes what is done with other values than the code is for, ending in a jump; `finish`
    takes the answer.
    """

    place: str
    field_place: str
    odd: Callable[[], None]
    finish: Callable[[str], None]
    many: bool = False


class Completions:
    """Writes the functions for the called fields of a plan, each when it is first asked for."""

    def __init__(self, writer: Writer, type_resolver: GraphQLTypeResolver) -> None:
        self._writer = writer
        self._type_resolver = type_resolver
        self._levels: dict[Field, str] = {}
        self._values: dict[Field, str] = {}

    def root(self, selection: Selection) -> str:
        """Name the function that answers a root object: it takes that and the run."""
        return self._writer.wanted(self.write_root, selection)

    def of(self, field: Field) -> str:
        """Give the function that takes a value of a field, the run and the value's place.

        It gives the answer or raises. Leaf values and what is always awaited have none of their
        own.
        """
        if is_awaited(field):
            self._levels[field] = self._writer.wanted(self.write_level, field)
            return ""
        if is_leaf_type(field.types[0]):
            self._values[field] = ""
            return ""
        name = self._values[field] = self._writer.wanted(self.write_value, field)
        return name

    def levels(self, functions: Callable[[str], Any]) -> dict[Field, Level]:
        """Give a function for whole levels of each field that was asked for."""
        found: dict[Field, Level] = {field: functions(name) for field, name in self._levels.items()}
        for field, name in self._values.items():
            found[field] = partial(_one_by_one, field, functions(name) if name else None)
        return found

    def write_root(self, writer: Writer, name: str, selection: Selection) -> None:
        odd = f"return run.whole({writer.constant(selection, 'S')}, v)"
        body = Body("v", "p", lambda: writer.line(odd), self._answer)
        with writer.block(f"def {name}(v, run):"):
            writer.line("p = None")
            write_object(writer, selection, body, self.of)
            writer.line("return a")

    def write_value(self, writer: Writer, name: str, field: Field) -> None:
        odd = f"return run.value({writer.constant(field, 'F')}, v, p)"
        site = Site("p", "p", lambda: writer.line(odd), self._answer)
        with writer.block(f"def {name}(v, run, p):"):
            if field.nullable[0]:
                with writer.block("if v is None:"):
                    writer.line("return None")
            self._write_composite(field, 0, site)
            writer.line("return a")

    def write_level(self, writer: Writer, name: str, field: Field) -> None:
        """Write the loop over entries and what was awaited or raised for each; it never raises."""
        held, target = writer.constant(field, "F"), f"d[{field.key!r}]"
        with writer.block(f"def {name}(entries, values, run):"):
            self._write_waiting(field)
            with writer.block("for (d, q, _), v in zip(entries, values, strict=True):"):
                writer.line(f"p = (q, {field.key!r}, {field.parent.name!r})")
                with writer.block("try:"):
                    with writer.block("if type(v) is Raised:"):
                        writer.line("raise v.error")
                    self._write_awaited(field, held, target)
                with writer.block("except Exception as error:"):
                    writer.line(f"{target} = run.late({held}, error, p)")

    def _write_awaited(self, field: Field, held: str, target: str) -> None:
        writer = self._writer
        if is_leaf_type(field.types[0]):
            write_leaf_answer(writer, field, "v", "p", target)
            return
        with writer.block("elif v is None:"):
            line = "continue" if field.nullable[0] else f"{target} = run.value({held}, v, p)"
            writer.line(line)

        def odd() -> None:
            writer.line(f"{target} = run.value({held}, v, p)")
            writer.line("continue")

        def finish(answer: str) -> None:
            writer.line(f"{target} = {answer}")

        self._write_composite(field, 0, Site("p", "p", odd, finish, many=True))

    def write_items(self, writer: Writer, name: str, field: Field, depth: int) -> None:
        """Write the function for a list of a field; `q` is the place of the field."""
        with writer.block(f"def {name}(values, run, p, q):"):
            writer.line("out = []")
            self._write_waiting(field)
            with writer.block("for v in values:"):
                if is_leaf_type(field.types[depth]):
                    self._write_leaf_item(field, depth)
                else:
                    self._write_item(field, depth)
            writer.line("return out")

    def _write_leaf_item(self, field: Field, depth: int) -> None:
        writer, kind = self._writer, field.types[depth]
        held = writer.constant(field, "F")
        odd = oddity(kind)
        if odd is not None:
            fine = f"not ({odd.format(v='v')})"
            with writer.block(f"if {'v is None or ' if field.nullable[depth] else ''}{fine}:"):
                writer.line("out.append(v)")
                writer.line("continue")
        writer.line(f"out.append(run.item({held}, {depth}, v, (p, len(out), None)))")

    def _write_item(self, field: Field, depth: int) -> None:
        writer, held = self._writer, self._writer.constant(field, "F")
        at, place = writer.local("p"), "(p, len(out), None)"

        def odd() -> None:
            writer.line(f"out.append(run.item({held}, {depth}, v, {at}))")
            writer.line("continue")

        def finish(answer: str) -> None:
            writer.line(f"out.append({answer})")

        writer.line(f"{at} = {place}")
        site = Site(at, "q", odd, finish, many=True)
        if field.nullable[depth]:
            with writer.block("if v is None:"):
                writer.line("out.append(None)")
                writer.line("continue")
        if not self._can_raise(field, depth):
            self._write_composite(field, depth, site)
            return
        writer.line("n = len(out)")
        with writer.block("try:"):
            self._write_composite(field, depth, site)
        with writer.block("except Exception as error:"):
            writer.line(f"out[n:] = (run.failed({held}, {depth}, error, {at}),)")

    def _can_raise(self, field: Field, depth: int) -> bool:
        if is_list_type(field.types[depth]) or is_abstract_type(field.named):
            return True
        selection = field.selections[field.named.name]
        return selection.type.is_type_of is not None or can_raise(selection)

    def _write_composite(self, field: Field, depth: int, site: Site) -> None:
        """Write how a list, object or abstract value is completed that is not null."""
        writer, kind = self._writer, field.types[depth]
        if is_list_type(kind):
            with writer.block("if type(v) is not list and type(v) is not tuple:"):
                site.odd()
            function = writer.wanted(self.write_items, field, depth + 1)
            site.finish(f"{function}(v, run, {site.place}, {site.field_place})")
            return
        with writer.block("if type(v) not in PLAIN and not PLAIN.admits(v):"):
            site.odd()
        if is_abstract_type(kind):
            self._write_abstract(field, site)
            return
        self._write_object(field, field.selections[field.named.name], site)

    def _write_object(self, field: Field, selection: Selection, site: Site) -> None:
        writer, test = self._writer, selection.type.is_type_of
        if test is not None:
            told = f"TypeInfo(run, {writer.constant(field, 'F')}, {site.field_place})"
            writer.line(f"t = {writer.constant(test, 'is_type_of')}(v, {told})")
            with writer.block("if t is not True:"):
                writer.line("unasked(t)")
                site.odd()
        body = Body("v", site.place, site.odd, site.finish, site.many)
        write_object(writer, selection, body, self.of)

    def _write_abstract(self, field: Field, site: Site) -> None:
        writer, kind = self._writer, field.named
        resolve = kind.resolve_type or self._type_resolver  # type: ignore[attr-defined]
        if resolve is default_type_resolver:
            # What it calls may have to be awaited, and cannot be called a second time.
            site.odd()
            return
        told = f"TypeInfo(run, {writer.constant(field, 'F')}, {site.field_place})"
        function = writer.constant(resolve, "resolve_type")
        writer.line(f"t = {function}(v, {told}, {writer.constant(kind, 'T')})")
        table = writer.wanted(self.write_types, field)
        writer.line(f"f = {table}.get(t) if type(t) is str else None")
        with writer.block("if f is None:"):
            writer.line("unasked(t)")
            site.odd()
        site.finish(f"f(v, run, {site.place}, {site.field_place})")

    def write_types(self, writer: Writer, name: str, field: Field) -> None:
        """Write a table of functions for objects of each type that a field may have."""
        functions = {
            possible: self._write_possible(field, selection)
            for possible, selection in field.selections.items()
        }
        entries = [f"{possible!r}: {function}" for possible, function in functions.items()]
        writer.line(f"{name} = {{{', '.join(entries)}}}")

    def _write_possible(self, field: Field, selection: Selection) -> str:
        writer, name = self._writer, self._writer.local("object_")
        held, chosen = writer.constant(field, "F"), writer.constant(selection, "S")
        odd = f"return run.object({held}, {chosen}, v, p)"
        site = Site("p", "q", lambda: writer.line(odd), self._answer)
        with writer.block(f"def {name}(v, run, p, q):"):
            self._write_object(field, selection, site)
            writer.line("return a")
        return name

    def _write_waiting(self, field: Field) -> None:
        """Write the variables for the batched fields of the objects in a loop."""
        selection = field.selections.get(field.named.name)
        for below in selection.fields if selection is not None else ():
            if is_batched(below):
                held = self._writer.constant(below, "F")
                self._writer.line(f"{waiting_name(self._writer, below)} = run.wait({held})")

    def _answer(self, answer: str) -> None:
        self._writer.line(f"a = {answer}")


def _one_by_one(
    field: Field, complete: Complete | None, entries: list[Entry], values: list[Any], run: Run
) -> None:
    """Complete a level of a field that seldom waits."""
    for (answer, above, _), value in zip(entries, values, strict=True):
        place = (above, field.key, field.parent.name)
        try:
            if type(value) is Raised:
                raise value.error
            answer[field.key] = (
                run.value(field, value, place) if complete is None else complete(value, run, place)
            )
        except Exception as error:
            answer[field.key] = None
            run.late(field, error, place)
