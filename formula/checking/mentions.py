"""The names of calculations and datasets in the text of a formula, found without parsing it.

Only brackets, commas, texts and named options matter here. Everything between them is passed over
at once, so that finding the names takes a small part of the time of parsing.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from penstock.formula.checking.dataset_uses import dataset_place
from penstock.formula.functions.catalogue import FUNCTIONS
from penstock.formula.syntax.parser import text_of_literal


class Mention(NamedTuple):
    """A name in a text of a formula, from `start` to `end`, and the group that its call names.

    `is_call` is false for the name of a dataset, which is written as a literal.
    """

    start: int
    end: int
    name: str
    group: str | None
    is_call: bool


# The same words as in the grammar; a word that `(` or `=` follows is a function or an option.
_SIGN: Final = re.compile(
    r"""
    (?P<open>(?:(?P<callee>\#[^\W\d]\w*+|[A-Za-z][A-Za-z0-9_]*+)\s*+)?\()
    |(?P<text>'(?:[^'\\\n]++|\\[^\n])*')
    |(?P<close>\))
    |(?P<comma>,)
    |(?P<option>[A-Za-z][A-Za-z0-9_]*+)\s*+=(?!=)
    |(?P<rest>(?:\s*+(?:
        :[\w:\#]++(?:\ ++[\w:\#]++)*
        |[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?
        |[A-Za-z][A-Za-z0-9_]*+(?!\s*+(?:\(|=(?!=)))
        |[^\s'(),\#:0-9A-Za-z]
    ))+)
    """,
    re.VERBOSE,
)


class _Bracket:
    """A bracket that is still open, with the arguments of a call or with one expression.

    `arguments` has the literal of each argument that is a text and nothing else. `parts` counts
    what the present argument consists of, and `text` is the last of it, if that is a text.
    """

    __slots__ = ("arguments", "callee", "group", "option", "parts", "start", "text")

    def __init__(self, found: re.Match[str] | None = None) -> None:
        self.callee: str = found["callee"] or "" if found else ""
        self.start = found.start() if found else 0
        self.arguments: list[re.Match[str] | None] = []
        self.group: str | None = None
        self.option: str | None = None
        self.parts = 0
        self.text: re.Match[str] | None = None

    def add(self, text: re.Match[str] | None) -> None:
        """Add one more part to the present argument."""
        self.parts += 1
        self.text = text

    def end_argument(self) -> None:
        """End the present argument, if there is one."""
        text = self.text if self.parts == 1 else None
        if self.option is None and self.parts:
            self.arguments.append(text)
        elif self.option == "group" and text is not None:
            self.group = text_of_literal(text[0])
        self.option, self.parts, self.text = None, 0, None

    def lone_text(self) -> re.Match[str] | None:
        """The text in a bracket around nothing but a text."""
        return self.arguments[0] if not self.callee and len(self.arguments) == 1 else None

    def mention(self) -> Mention | None:
        """The name that the call of a complete bracket has, if it is such a call."""
        if self.callee.startswith("#"):
            start, end = self.start + 1, self.start + len(self.callee)
            return Mention(start, end, self.callee[1:], self.group, is_call=True)
        name, count = self.callee.upper(), len(self.arguments)
        function = FUNCTIONS.get(name)
        if function is None or not function.pinned or not function.takes(count):
            return None
        text = self.arguments[dataset_place(name, count)]
        if text is None:
            return None
        return Mention(*text.span(), text_of_literal(text[0]), self.group, is_call=False)


def find_mentions(text: str) -> Iterator[Mention]:
    """Yield the names in a formula that the parser accepts; inner calls come before outer ones.

    The name of a dataset is found only where it is a text literal, and no row decides it.
    """
    outer: list[_Bracket] = []
    inner = _Bracket()
    for found in _SIGN.finditer(text):
        match found.lastgroup:
            case "open":
                outer.append(inner)
                inner = _Bracket(found)
            case "close" if outer:
                inner.end_argument()
                if (mention := inner.mention()) is not None:
                    yield mention
                lone = inner.lone_text()
                inner = outer.pop()
                inner.add(lone)
            case "comma":
                inner.end_argument()
            case "option":
                inner.option = found["option"]
            case "text":
                inner.add(found)
            case _:
                inner.add(None)
