"""Python source, written function by function, and the values that it names."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Concatenate, ParamSpec

from graphql import GraphQLLeafType

from penstock.graphql_jit.leaves import Coerce, coercion
from penstock.graphql_jit.plan import Field, Lists

P = ParamSpec("P")


class Writer:
    """A growing module of functions; `names` holds what they refer to.

    `coercions` are those of the schema's leaf types that were asked for so far; `lists` are as in
    `Options`.
    """

    def __init__(
        self,
        names: dict[str, Any],
        coercions: dict[GraphQLLeafType, Coerce],
        lists: Lists | None = None,
    ) -> None:
        self.names = names
        self._coercions = coercions
        self._lists = lists
        self._lines: list[str] = []
        self._indent = ""
        self._loops = 0
        self._remembered: list[str] = []
        self._numbers = count()
        self._bound: dict[int, str] = {}
        self._wanted: dict[tuple[Any, ...], str] = {}
        self._unwritten: list[Callable[[], None]] = []

    def line(self, text: str) -> None:
        self._lines.append(self._indent + text)

    def answer(self, text: str) -> None:
        """Write that a function's answer is what the text says, although it may still grow."""
        self.line(f"a = {text}")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        outer, self._indent = self._indent, self._indent + " "
        yield
        self._indent = outer

    @contextmanager
    def function(self, header: str) -> Iterator[None]:
        """Write a function, beginning with what is remembered in it."""
        start, self._remembered = len(self._lines) + 1, []
        with self.block(header):
            yield
        self._lines[start:start] = [f" {name} = None" for name in self._remembered]

    @contextmanager
    def loop(self, header: str) -> Iterator[None]:
        self._loops += 1
        with self.block(header):
            yield
        self._loops -= 1

    def remembered(self, hint: str) -> str | None:
        """Give a name that keeps its value from one turn of a loop to the next, None at first.

        There is none where nothing is repeated.
        """
        if not self._loops:
            return None
        name = self.local(hint)
        self._remembered.append(name)
        return name

    def local(self, hint: str) -> str:
        """Give a name that nothing else has."""
        return f"{hint}{next(self._numbers)}"

    def constant(self, value: Any, hint: str) -> str:
        """Give the name of a value; the same value has one name."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = self.local(hint)
            self.names[name] = value
        return name

    def coerce(self, kind: GraphQLLeafType) -> str:
        """Give the name of the function that coerces values of a leaf type."""
        found = self._coercions.get(kind)
        if found is None:
            found = self._coercions[kind] = coercion(kind)
        return self.constant(found, "coerce")

    def whole_list(self, field: Field, depth: int) -> str | None:
        """Give the name of what may answer lists of a field as a whole; it gives None if it cannot.

        There is none for lists within others, which are many and short.
        """
        is_inner = field.is_repeated or depth > 1
        found = None if self._lists is None or is_inner else self._lists(field, depth)
        return None if found is None else self.constant(found, "whole")

    def wanted(
        self,
        write: "Callable[Concatenate[Writer, str, P], None]",
        *about: P.args,
        **options: P.kwargs,
    ) -> str:
        """Give the name of what `write` writes about these; it does so once, later."""
        key = (write, *about)
        name = self._wanted.get(key)
        if name is None:
            hint = write.__name__.removeprefix("write_")
            name = self._wanted[key] = self.local(f"{hint}_")
            self._unwritten.append(lambda: write(self, name, *about, **options))
        return name

    def functions(self) -> Callable[[str], Any]:
        """Write what is wanted and compile all; the answer gives the functions by name."""
        while self._unwritten:
            self._unwritten.pop()()
        code = compile("\n".join(self._lines), "<plan>", "exec")
        exec(code, self.names)  # noqa: S102  # it holds names of ours and of GraphQL only
        return self.names.__getitem__
