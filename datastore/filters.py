"""Filters by tags, as users write them."""

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.records import Tag
from penstock.datastore.tags import tag_text_problems

MAX_TERMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFilter:
    """Resources that carry all of `all`, one of `any` and none of `none`.

    A value matches itself and every value below it. Terms left out do not restrict.
    """

    all: tuple[Tag, ...] = ()
    any: tuple[Tag, ...] = ()
    none: tuple[Tag, ...] = ()

    def check(self) -> None:
        """Raise Invalid for terms that no tag could ever match, or too many of them."""
        if sum(len(terms) for _, terms in self.named()) > MAX_TERMS:
            raise Invalid([FieldProblem(["tags"], f"at most {MAX_TERMS} terms are allowed")])
        problems: list[FieldProblem] = []
        for name, terms in self.named():
            for n, tag in enumerate(terms):
                problems += tag_text_problems(["tags", name, str(n)], tag)
        if problems:
            raise Invalid(problems)

    def named(self) -> Iterable[tuple[str, tuple[Tag, ...]]]:
        """The three parts under their names."""
        return ("all", self.all), ("any", self.any), ("none", self.none)
