"""The rules of the fields of runs; all are checked at once, before anything is written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.text import character_problem, line_problem, multiline_problem, name_problem

MAX_RUN_ID = 1024
MAX_NAME = 128
MAX_SAVED_TO = 1024
MAX_PROSE = 8192
MAX_SHRED_TYPES = 1000
MAX_SHRED_BYTES = 200_000
MAX_COUNTS = 50
MAX_ALL_COUNTS = 100
"""The counts that a run has of all its workers."""

MAX_LEASE = 86_400
MAX_NUMBER: Final = 2**63 - 1
LAST_SECOND: Final = 9_999_999_999

_SCHEME = re.compile(r"s3[na]?://")
_FOLDER = re.compile(r"s3[na]?://([^/]{3,255})/(.*)", re.DOTALL)

NamedProblems = Iterable[tuple[str, "str | None"]]


def require_valid(problems: NamedProblems) -> None:
    """Raise Invalid with every problem there is, each with its field: `tags.0.key` is a path."""
    found = [FieldProblem(field.split("."), message) for field, message in problems if message]
    if found:
        raise Invalid(found)


def run_id_problem(text: str) -> str | None:
    """A run id is a path inside a bucket, without the scheme."""
    if not text:
        return "must not be empty"
    if _SCHEME.match(text):
        return "is a path inside of the bucket, without `s3://`"
    if len(text.encode(errors="replace")) > MAX_RUN_ID:
        return f"is longer than {MAX_RUN_ID} bytes"
    return character_problem(text)


def short_problem(text: str) -> str | None:
    return line_problem(text, MAX_NAME)


def new_name_problem(text: str) -> str | None:
    return name_problem(text, MAX_NAME)


def reason_problem(text: str) -> str | None:
    return multiline_problem(text, MAX_PROSE) if text.strip() else "must not be empty"


def lease_problem(seconds: int) -> str | None:
    return None if 1 <= seconds <= MAX_LEASE else f"must be 1 to {MAX_LEASE} seconds"


def fence_problem(fence: int) -> str | None:
    return None if 0 <= fence <= MAX_NUMBER else "is not the fence of any claim"


def folder_parts(text: str) -> tuple[str, str] | None:
    """The bucket and the path of `s3://bucket/path/`; None if the text is no folder."""
    found = _FOLDER.fullmatch(text)
    return (found[1], found[2]) if found else None


def folder_problem(text: str) -> str | None:
    if len(canonical_folder(text)) > MAX_SAVED_TO:
        return f"is longer than {MAX_SAVED_TO} characters"
    if folder_parts(text) is None:
        return "must be a folder like `s3://bucket/path/`"
    return character_problem(text)


def canonical_folder(text: str) -> str:
    """The folder in the form that is stored: with `s3://` and with `/` at the end."""
    return _SCHEME.sub("s3://", text, count=1).rstrip("/") + "/"


def shred_types_problem(types: Sequence[str]) -> str | None:
    if len(types) > MAX_SHRED_TYPES:
        return f"are more than {MAX_SHRED_TYPES}"
    if sum(len(each.encode(errors="replace")) for each in types) > MAX_SHRED_BYTES:
        return f"are longer than {MAX_SHRED_BYTES} bytes together"
    return next((f"{problem} (a type)" for problem in map(_type_problem, types) if problem), None)


def counts_problem(counts: Mapping[str, int] | None) -> str | None:
    if counts is None:
        return None
    if len(counts) > MAX_COUNTS:
        return f"are more than {MAX_COUNTS}"
    if found := next(filter(None, map(new_name_problem, counts)), None):
        return f"have a name that {found}"
    if any(not 0 <= count <= MAX_NUMBER for count in counts.values()):
        return f"must be 0 to {MAX_NUMBER}"
    return None


def all_counts_problem(counts: Mapping[str, int]) -> str | None:
    """The problem of what a run would have with new counts beside those of before."""
    if len(counts) > MAX_ALL_COUNTS:
        return f"are more than {MAX_ALL_COUNTS}, with those reported before"
    return None


def _type_problem(text: str) -> str | None:
    return line_problem(text, MAX_PROSE)
