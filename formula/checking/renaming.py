"""Puts other names for calculations and datasets into the text of a formula."""

from collections.abc import Callable
from typing import TypeAlias

from penstock.formula.checking.mentions import find_mentions
from penstock.formula.core.errors import START
from penstock.formula.syntax.render import render
from penstock.formula.syntax.tree import Literal

NewName: TypeAlias = Callable[[str, str | None], str | None]
"""Gives the name to write in place of one that a call names in this group; None keeps it."""


def rename(text: str, calculation: NewName, dataset: NewName) -> str:
    """The text of a valid formula with other names for what it calls and looks up.

    Everything else stays as it was written. A dataset name that a row decides stays too.
    """
    parts, at = [], 0
    for mention in sorted(find_mentions(text)):
        new_name = calculation if mention.is_call else dataset
        name = new_name(mention.name, mention.group)
        if name is not None:
            written = name if mention.is_call else render(Literal(START, name))
            parts += [text[at : mention.start], written]
            at = mention.end
    return "".join((*parts, text[at:]))
