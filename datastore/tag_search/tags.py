"""Tags in comparison form, the rules of their texts, and filters by tags, also as terms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import normalize

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.name_search.words import NameTerm
from penstock.datastore.records import Tag
from penstock.datastore.table.keys import join_levels
from penstock.datastore.text import comparison_form, line_problem, normalisation_problem

MAX_LENGTH = 128
MAX_DEPTH = 10
MAX_TAGS = 50
MAX_VALUE = 2 * MAX_DEPTH * MAX_LENGTH
"""The maximum of characters of a value as written; normalising may make several of one
character."""


CARRIED_TAGS = 16
"""The most tags of a resource whose postings carry all its tags."""

CARRIED_CHARACTERS = 2_000

NAME = ""
"""The key under which a tag set has the name of its resource in search form; no tag has this key.

It is absent where a row does not carry the name.
"""


class TagLevel(NamedTuple):
    """One level of a resource's tag; `last` says that the tag's value ends here."""

    key: str
    value: tuple[str, ...]
    label: str
    last: bool


def level_names(text: str) -> list[str]:
    """The names of a value's levels as written; NFKC turns other forms of `/` into separators."""
    return [name.strip() for name in normalize("NFKC", text).split("/")]


def value_levels(text: str) -> tuple[str, ...]:
    """The levels of a value written with `/`, in comparison form."""
    return tuple(map(comparison_form, level_names(text)))


def tag_map(tags: Iterable[Tag]) -> dict[str, str]:
    """A whole tag set as its rows store it: key -> `a#b#c`."""
    return {comparison_form(tag.key): join_levels(value_levels(tag.value)) for tag in tags}


def without_name(tags: Mapping[str, str]) -> Mapping[str, str]:
    """The tags of a row that may carry the name of its resource as one."""
    if NAME not in tags:
        return tags
    return {key: value for key, value in tags.items() if key != NAME}


def fits_posting(tags: Mapping[str, object]) -> bool:
    """Whether each posting of a resource carries this tag set, as `tag_map` makes it.

    Beyond these limits only the resource's grants carry it: otherwise a change of one tag would
    rewrite every posting. A larger set that a posting carries all the same may be out of date.
    """
    if len(tags) > CARRIED_TAGS:
        return False
    characters = sum(map(len, tags)) + sum(map(len, map(str, tags.values())))
    return characters <= CARRIED_CHARACTERS


def tag_levels(tag: Tag) -> tuple[TagLevel, ...]:
    """Every level of one tag, from the top."""
    labels, key = level_names(tag.value), comparison_form(tag.key)
    value = tuple(map(comparison_form, labels))
    return tuple(
        TagLevel(key, value[: n + 1], label, n + 1 == len(value)) for n, label in enumerate(labels)
    )


def tag_problems(tags: Sequence[Tag]) -> list[FieldProblem]:
    """List every broken rule of a resource's tags, with its path below `tags`."""
    if len(tags) > MAX_TAGS:
        return [FieldProblem(["tags"], f"at most {MAX_TAGS} tags are allowed")]
    problems: list[FieldProblem] = []
    seen: set[str] = set()
    for n, tag in enumerate(tags):
        found = tag_text_problems(["tags", str(n)], tag)
        problems += found
        if found:
            continue
        key = comparison_form(tag.key)
        if key in seen:
            problems.append(FieldProblem(["tags", str(n), "key"], f"{tag.key!r} is given twice"))
        seen.add(key)
    return problems


def tag_text_problems(path: list[str], tag: Tag) -> list[FieldProblem]:
    """List the broken rules of one tag's texts; `path` is the tag's path in the input."""
    found = [("key", line_problem(tag.key, MAX_LENGTH))]
    found += [("value", text) for text in _value_problems(tag.value)]
    return [FieldProblem([*path, field], text) for field, text in found if text]


def _value_problems(value: str) -> list[str | None]:
    if problem := normalisation_problem(value, MAX_VALUE):
        return [problem]
    names = level_names(value)
    if len(names) > MAX_DEPTH:
        return [f"has more than {MAX_DEPTH} levels"]
    found = [line_problem(name, MAX_LENGTH) for name in names]
    if len(found) == 1:
        return found
    return [problem and f"level {n}: {problem}" for n, problem in enumerate(found, start=1)]


MAX_TERMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TagFilter:
    """A filter: resources with all tags of `all`, one of `any` and none of `none`.

    A value matches itself and every value below it. Nor has a resource a tag with one of
    `without_keys`. An empty part does not restrict.
    """

    all: tuple[Tag, ...] = ()
    any: tuple[Tag, ...] = ()
    none: tuple[Tag, ...] = ()
    without_keys: tuple[str, ...] = ()

    @property
    def restricts(self) -> bool:
        """Whether some tag set does not match."""
        return bool(self.all or self.any or self.none or self.without_keys)

    def check(self) -> None:
        """Raise Invalid for too many terms, and for terms that no tag can match."""
        terms_given = sum(len(terms) for _, terms in self.parts_by_name())
        if terms_given + len(self.without_keys) > MAX_TERMS:
            raise Invalid([FieldProblem(["tags"], f"at most {MAX_TERMS} terms are allowed")])
        problems = [
            FieldProblem(["tags", "withoutKeys", str(n)], problem)
            for n, key in enumerate(self.without_keys)
            if (problem := line_problem(key, MAX_LENGTH))
        ]
        for name, terms in self.parts_by_name():
            for n, tag in enumerate(terms):
                problems += tag_text_problems(["tags", name, str(n)], tag)
        if problems:
            raise Invalid(problems)

    def parts_by_name(self) -> Iterable[tuple[str, tuple[Tag, ...]]]:
        """The three parts with their names."""
        return ("all", self.all), ("any", self.any), ("none", self.none)


class TagTerm(NamedTuple):
    """A tag in comparison form; its value `a#b` also matches every value below it."""

    key: str
    value: str

    def implies(self, other: "TagTerm") -> bool:
        """Whether every tag set that matches this term matches the other as well."""
        return other.matches({self.key: self.value})

    def matches(self, tags: Mapping[str, str]) -> bool:
        value = tags.get(self.key)
        return value is not None and (value == self.value or value.startswith(self.value + "#"))


@dataclass(frozen=True, slots=True)
class TermFilter:
    """A filter of tag sets: all of `all`, at least one of `any` (if not empty), none of `none`.

    A tag set has none of `without_keys`. It also needs the `name`, unless its name is not known.
    """

    all: tuple[TagTerm, ...] = ()
    any: tuple[TagTerm, ...] = ()
    none: tuple[TagTerm, ...] = ()
    without_keys: frozenset[str] = frozenset()
    name: NameTerm | None = None

    @property
    def restricts(self) -> bool:
        """Whether some tag set does not match."""
        return bool(self.all or self.any or self.none or self.without_keys or self.name)

    @property
    def is_proved_by_posting(self) -> bool:
        """Whether a posting of a scanned tag matches, whatever other tags its resource has."""
        if self.none or self.without_keys or self.name:
            return False
        return not self.all or len({*self.all, *self.any}) == 1

    def leaves_open(self, tags: Mapping[str, str]) -> bool:
        """Whether a tag set matches as far as it goes, but its name is not known."""
        return not self.tells_name(tags) and self.matches(tags)

    def tells_name(self, tags: Mapping[str, str]) -> bool:
        """Whether a tag set has the name, if one is wanted."""
        return self.name is None or NAME in tags

    def is_proved_by(self, tags: Mapping[str, str]) -> bool:
        """Whether a tag set matches, and its name, if one is wanted, is known."""
        return self.tells_name(tags) and self.matches(tags)

    def matches(self, tags: Mapping[str, str]) -> bool:
        if self.name is not None and NAME in tags and not self.name.matches(tags[NAME]):
            return False
        for term in self.all:
            if not term.matches(tags):
                return False
        for term in self.none:
            if term.matches(tags):
                return False
        if not self.without_keys.isdisjoint(tags):
            return False
        return not self.any or any(term.matches(tags) for term in self.any)

    def scan_alternatives(self) -> tuple[tuple[TagTerm, ...], ...]:
        """The lists to scan, as alternatives of tags: every match has all tags of one of them.

        The postings of any single tag of an alternative include all matches of that alternative. An
        alternative without tags matches every member; without alternatives nothing can match.
        """
        needed = self.all if len(self.any) > 1 else self.all + self.any
        if needed:
            narrowest = tuple(one for one in dict.fromkeys(needed) if not _is_implied(one, needed))
            # A tag set has one value for a key, and no value here is a level of another one.
            possible = len({one.key for one in narrowest}) == len(narrowest)
            return (narrowest,) if possible else ()
        if self.any:
            return tuple(
                (one,) for one in dict.fromkeys(self.any) if not _implies_another(one, self.any)
            )
        return ((),)


def _is_implied(one: TagTerm, others: tuple[TagTerm, ...]) -> bool:
    return any(other != one and other.implies(one) for other in others)


def _implies_another(one: TagTerm, others: tuple[TagTerm, ...]) -> bool:
    return any(other != one and one.implies(other) for other in others)
