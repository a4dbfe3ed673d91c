"""The rule for the names that somebody gives to a thing or to a part of it."""

from typing import Final

import msgspec

from penstock.datastore.errors import FieldProblem
from penstock.datastore.text import name_character_problem

_NAMES: Final = frozenset(
    {
        *("name", "key", "value", "label", "unit"),
        *("title", "album", "albumArtist", "artists", "genres"),
    }
)
"""The fields of resources and tracks, and of what they hold, that name something."""


def name_character_problems(content: object, *path: str) -> list[FieldProblem]:
    """List the names in new content with characters that no new name has, such as invisible ones.

    `path` is the path of the content in the input.

    Names from before are no part of new content.
    """
    if isinstance(content, str):
        field = next((part for part in reversed(path) if not part.isdigit()), "")
        message = name_character_problem(content) if field in _NAMES else None
        return [FieldProblem([*path], message)] if message else []
    if isinstance(content, msgspec.Struct):
        content = msgspec.structs.asdict(content)
    elif isinstance(content, tuple):
        content = {str(n): entry for n, entry in enumerate(content)}
    return [
        problem
        for field, value in (content.items() if isinstance(content, dict) else ())
        if field != "attributes"
        for problem in name_character_problems(value, *path, field)
    ]
