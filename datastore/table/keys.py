"""The text of keys: templates of segments joined by `:`, which no variable's value can contain."""

import re
from collections.abc import Mapping
from typing import TypeAlias

from penstock.datastore.text import escape, unescape

KeyPart: TypeAlias = "str | int | tuple[str, ...]"

SEPARATOR = ":"
LEVEL = "#"
SHARD = "\x01"
"""Stands before the shard in a segment. No other character sorts lower, and `escape` removes it, so
that the shards of one value lie together, at the place where the value itself lies."""
MAX_SHARD = 99
_VARIABLE = re.compile(r"\{(\w+)(?:\.(\d+))?(~)?\}")


def join_levels(levels: tuple[str, ...]) -> str:
    """Join the levels of a hierarchical value to one segment: each escaped, joined by `#`."""
    return LEVEL.join(map(escape, levels))


def split_levels(segment: str) -> tuple[str, ...]:
    """Split a segment into the levels of a hierarchical value."""
    return tuple(map(unescape, segment.split(LEVEL)))


class Template:
    """The template of a key, like `T:{value}:{kind}:{id}`; `{version.10}` is a ten-digit number.

    Strings are escaped, the levels of tuples are escaped and joined by `#`, numbers are padded with
    zeros. `{value~}` ends in the variable `shard`, a number up to MAX_SHARD; 0 adds no text.
    """

    __slots__ = ("_filled", "_segments", "_variables", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._segments = tuple(
            (segment, _VARIABLE.fullmatch(segment)) for segment in text.split(SEPARATOR)
        )
        variables = [variable for _, variable in self._segments if variable is not None]
        self._variables = tuple(
            part
            for variable in variables
            for part in ((variable[1], variable[2]), ("shard", SHARD))[: 1 + bool(variable[3])]
        )
        self._filled = SEPARATOR.join(
            segment if variable is None else "%s%s" if variable[3] else "%s"
            for segment, variable in self._segments
        )

    @property
    def leader(self) -> str:
        """The fixed first segment, which distinguishes this family of keys from the others."""
        return self._segments[0][0]

    def fill(self, values: Mapping[str, KeyPart]) -> str:
        """The key text for values of every variable; raises KeyError for a missing value."""
        parts = [_format_part(values[name], width) for name, width in self._variables]
        return self._filled % tuple(parts)

    def prefix(self, values: Mapping[str, KeyPart]) -> str:
        """The key text up to the first variable without a value, cut behind a separator."""
        parts: list[str] = []
        for segment, variable in self._segments:
            if variable is None:
                parts.append(segment)
            elif variable[1] in values:
                parts.append(_format_part(values[variable[1]], variable[2]))
            else:
                return SEPARATOR.join([*parts, ""])
        raise ValueError(f"{self.text} has no variable left to cut at")

    def fits(self, text: str) -> bool:
        """Whether a key text has the segments of this template."""
        parts = text.split(SEPARATOR)
        return len(parts) == len(self._segments) and all(
            variable is not None or segment == part
            for (segment, variable), part in zip(self._segments, parts, strict=True)
        )

    def parse(self, text: str) -> dict[str, str]:
        """Read the segments of the variables, still escaped; ValueError for a foreign key."""
        parts = text.split(SEPARATOR)
        found: dict[str, str] = {}
        for (segment, variable), part in zip(self._segments, parts, strict=True):
            if variable is not None:
                found[variable[1]], _, shard = part.partition(SHARD)
                if variable[3]:
                    found["shard"] = shard or "0"
            elif segment != part:
                raise ValueError(f"{text!r} is not of the shape {self.text}")
        return found


def _format_part(value: KeyPart, width: str | None) -> str:
    if width == SHARD:
        return f"{SHARD}{value:02d}" if value else ""
    if isinstance(value, str):
        return escape(value)
    return join_levels(value) if isinstance(value, tuple) else f"{value:0{width or 1}d}"
