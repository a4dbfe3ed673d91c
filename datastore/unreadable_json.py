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

_PLACE = re.compile(r"`(\$[.\[\]\w]*)`$", re.ASCII)


def describe_unreadable(error: Exception, whole: str = "$") -> str:
    """Say why a document was not read, by its place; `whole` is that of the document itself."""
    match error:
        case RecursionError():
            return "it is nested too deep"
        case msgspec.ValidationError():
            at = _PLACE.search(str(error))
            return f"{at[1] if at else whole} is missing, or of another kind"
    return "it is no JSON"
