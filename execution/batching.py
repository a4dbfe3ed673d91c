"""Resolvers that answer for every object of a level at once."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from penstock.execution.marking import R, marking

Many: TypeAlias = Callable[..., Awaitable[Sequence[Any]] | Sequence[Any]]

_MARK = "__answers_many__"


def batched(many: Many) -> Callable[[R], R]:
    """Mark a resolver of Strawberry's as having a form for many objects, which is preferred.

    `many(parents, info, **arguments)` is called once for a level of the answer, with all objects
    whose field is asked for there; the info is that of the first. It gives one value for each, in
    their order; an exception among them fails that object's field alone, a raised one all. The
    resolver itself is what runs where an operation is not compiled.
    """
    return marking(_MARK, many)


def many_of(resolver: object) -> Many | None:
    """Give the form for many of a resolver, if it has one."""
    found: Many | None = getattr(resolver, _MARK, None)
    return found
