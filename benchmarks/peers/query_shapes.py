"""The shapes of the benchmark's requests."""

from typing import NamedTuple


class Shape(NamedTuple):
    """A kind of request, which several documents make; `title` is its name in tables."""

    name: str
    title: str


SHAPES = (
    Shape("one", "one object"),
    Shape("list", "100 objects with tags"),
    Shape("owners", "100 with a loaded child"),
    Shape("page", "a nested page"),
)
