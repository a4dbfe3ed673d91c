"""Writes Python source, function by function, and collects the values that it refers to by name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Concatenate, ParamSpec

from graphql import GraphQLLeafType

from penstock.graphql_jit.leaves import CoerceLeaf, leaf_coercion
from penstock.graphql_jit.plan import Field, ListFunctions

P = ParamSpec("P")


class SourceWriter:
    """A module of functions under construction; `names` maps the names they use to values.

    `coercions` caches the coercions of the schema's leaf types; `lists` is the same as in
    `ExecutionOptions`.
    """

    def __init__(
        self,
        names: dict[str, Any],
        coercions: dict[GraphQLLeafType, CoerceLeaf],
        lists: ListFunctions | None = None,
    ) -> None:
        self.names = names
        self._coercions = coercions
        self._lists = lists
        self._lines: list[str] = []
        self._indent = ""
        self._loops = 0
        self._loop_variables: list[str] = []
        self._numbers = count()
        self._bound: dict[int, str] = {}
        self._required: dict[tuple[Any, ...], str] = {}
        self._unwritten: list[Callable[[], None]] = []

    def line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def assign_answer(self, text: str) -> None:
        """Write the assignment of the function's answer, to which later code may add keys."""
        self.line(f"a = {text}")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        outer, self._indent = self._indent, self._indent + " "
        yield
        self._indent = outer

    @contextmanager
    def function(self, header: str) -> Iterator[None]:
        """Write a function; variables that loops remember are set to None at its beginning."""
        start, self._loop_variables = len(self._lines) + 1, []
        with self.block(header):
            yield
        self._lines[start:start] = [f" {name} = None" for name in self._loop_variables]

    @contextmanager
    def loop(self, header: str) -> Iterator[None]:
        self._loops += 1
        with self.block(header):
            yield
        self._loops -= 1

    def loop_variable(self, hint: str) -> str | None:
        """Return a variable that keeps its value between the turns of a loop, None at first.

        Outside of loops there is none.
        """
        if not self._loops:
            return None
        name = self.new_name(hint)
        self._loop_variables.append(name)
        return name

    def new_name(self, hint: str) -> str:
        """Return a name that is not used yet."""
        return f"{hint}{next(self._numbers)}"

    def constant(self, value: Any, hint: str) -> str:
        """Return the name of a value; the same value always has the same name."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = self.new_name(hint)
            self.names[name] = value
        return name

    def coercion_name(self, kind: GraphQLLeafType) -> str:
        """Return the name of the function that coerces values of a leaf type."""
        found = self._coercions.get(kind)
        if found is None:
            found = self._coercions[kind] = leaf_coercion(kind)
        return self.constant(found, "coerce")

    def list_function(self, field: Field, depth: int) -> str | None:
        """Return the name of the function that completes a field's list as a whole, or None.

        That function returns None for a list it cannot complete. Lists within lists have none,
        because they are many and short.
        """
        is_inner = field.is_repeated or depth > 1
        found = None if self._lists is None or is_inner else self._lists(field, depth)
        return None if found is None else self.constant(found, "whole")

    def require_function(
        self,
        write: "Callable[Concatenate[SourceWriter, str, P], None]",
        *about: P.args,
        **options: P.kwargs,
    ) -> str:
        """Return the name of the function that `write` will write once for these arguments."""
        key = (write, *about)
        name = self._required.get(key)
        if name is None:
            hint = write.__name__.removeprefix("write_")
            name = self._required[key] = self.new_name(f"{hint}_")
            self._unwritten.append(lambda: write(self, name, *about, **options))
        return name

    def compile_functions(self, pause: Callable[[], None]) -> Callable[[str], Any]:
        """Write and compile all requested functions; the result returns a function by its name.

        It pauses after each of them, as Python's compiler lets no other thread go on.
        """
        while self._unwritten:
            self._unwritten.pop()()
            code = compile("\n".join(self._lines), "<plan>", "exec")
            exec(code, self.names)  # noqa: S102  # it holds names of ours and of GraphQL only
            self._lines.clear()
            pause()
        return self.names.__getitem__
