"""Words for what is wrong with a document in JSON, instead of those of the library."""

import re
from typing import Final

import msgspec

JSON_ERRORS: Final = (
    msgspec.MsgspecError,
    UnicodeDecodeError,
    UnicodeEncodeError,
    RecursionError,
)
"""The errors of msgspec for a document that it cannot read.

Those of Unicode are raised for texts and keys that are no UTF-8, and are no MsgspecError.
"""

_PLACE = re.compile(r" - at `(\$[.\[\]\w]*)`$", re.ASCII)


def describe_unreadable(error: Exception, whole: str = "$") -> str:
    """Say why a document was not read, by its place; `whole` is that of the document itself."""
    match error:
        case RecursionError():
            return "it is nested too deep"
        case msgspec.ValidationError():
            return f"{place_of_value(error) or whole} is missing, or of another kind"
    return "it is no JSON"


def place_of_value(error: msgspec.ValidationError) -> str | None:
    """The place of the value that an error is about; None for the document itself."""
    found = _PLACE.search(str(error))
    return None if found is None else found[1]
