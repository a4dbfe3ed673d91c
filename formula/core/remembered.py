"""Results that are remembered, and refusals, which may take as long to find out."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

from penstock.formula.core.errors import Fault

P = ParamSpec("P")
R = TypeVar("R")


def remember(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the last results and refusals of a function, at most so many."""

    def wrap(compute: Callable[P, R]) -> Callable[P, R]:
        def attempt(*arguments: P.args, **options: P.kwargs) -> R | Fault:
            try:
                return compute(*arguments, **options)
            except Fault as refusal:
                return Fault(refusal.code, refusal.message)

        find = cast("Callable[P, R | Fault]", lru_cache(maxsize=most)(attempt))

        @wraps(compute)
        def answer(*arguments: P.args, **options: P.kwargs) -> R:
            found = find(*arguments, **options)
            if isinstance(found, Fault):
                raise Fault(found.code, found.message)
            return found

        return answer

    return wrap
