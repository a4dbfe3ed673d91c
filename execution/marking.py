"""Marks on resolvers, of which Strawberry's wrapping knows nothing."""

from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R", bound=Callable[..., Any])


def marking(name: str, value: object) -> Callable[[R], R]:
    """Make a decorator that sets an attribute of a resolver's function."""

    def marked(resolver: R) -> R:
        function = resolver.__func__ if isinstance(resolver, staticmethod) else resolver
        setattr(function, name, value)
        return resolver

    return marked
