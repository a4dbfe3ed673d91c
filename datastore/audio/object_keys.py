"""Keys of the objects that belong to one user, in the server's own bucket."""

from typing import Final
from urllib.parse import quote

from penstock.datastore.errors import BadInput, FieldProblem, Invalid
from penstock.datastore.objects.port import check_key

NAME_BYTES: Final = 255


def owned_prefix(user: str) -> str:
    """What the keys of all of a user's objects begin with, and those of nobody else's."""
    segment = quote(user, safe="@+=,!$&'()*;~-._")
    # Dots alone would be a way up.
    return f"audio/{segment.replace('.', '%2E') if not segment.strip('.') else segment}/"


def upload_key(user: str, id: str, name: str) -> str:
    """Where an upload of the user goes, under an id of its own."""
    return f"{uploads_prefix(user)}{id}/{name}"


def uploads_prefix(user: str) -> str:
    return f"{owned_prefix(user)}uploads/"


def artwork_key(user: str, artwork: str) -> str:
    """Where a cover is kept, under the digest of its content."""
    return f"{owned_prefix(user)}artwork/{artwork}"


def is_owned(user: str, key: str) -> bool:
    """Whether an object of the server's bucket is the user's to register and to read."""
    try:
        check_key(key)
    except BadInput:
        return False
    return key.startswith(owned_prefix(user))


def file_name_of(key: str) -> str:
    return key.rpartition("/")[2]


def check_file_name(name: str) -> None:
    """Refuse a name that cannot be the last segment of a key."""
    try:
        check_key(name)
    except BadInput as error:
        raise Invalid([FieldProblem(["fileName"], error.message)]) from None
    if "/" in name or "\\" in name or len(name.encode()) > NAME_BYTES:
        words = f"has no slashes and at most {NAME_BYTES} bytes"
        raise Invalid([FieldProblem(["fileName"], words)])
