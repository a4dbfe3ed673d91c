"""Keys of the objects that belong to one user, in the server's own bucket."""

from hashlib import sha256
from typing import Final
from urllib.parse import quote

from penstock.datastore.errors import BadArgument, FieldProblem, Invalid
from penstock.datastore.objects.checks import check_key
from penstock.datastore.text import invisible_character_problem

NAME_BYTES: Final = 255

LONGEST_SEGMENT: Final = 640
"""The most characters of a user's segment, before folders, an id, and a name of 255 bytes."""


def owned_prefix(user: str) -> str:
    """The common prefix of the keys of all objects of a user; no other user shares it."""
    segment = quote(user, safe="@+=,!$&'()*;~-._")
    if len(segment) > LONGEST_SEGMENT:
        # No user's segment begins so, as two digits follow each percent sign.
        segment = f"%~{sha256(user.encode()).hexdigest()}"
    # A segment of dots alone would lead to a parent folder.
    return f"audio/{segment.replace('.', '%2E') if not segment.strip('.') else segment}/"


def upload_key(user: str, id: str, name: str) -> str:
    """The key of a new upload of the user, with an id of its own."""
    return f"{uploads_prefix(user)}{id}/{name}"


def uploads_prefix(user: str) -> str:
    return f"{owned_prefix(user)}uploads/"


def track_key(user: str, id: str, name: str) -> str:
    """The key of the object of a registered upload; no form can write it."""
    return f"{owned_prefix(user)}tracks/{id}/{name}"


def playlist_files_prefix(user: str) -> str:
    """The common prefix of the keys of playlist files that the user uploads."""
    return f"{owned_prefix(user)}playlist-files/"


def cover_files_prefix(user: str) -> str:
    """The common prefix of the keys of pictures that the user uploads for covers."""
    return f"{owned_prefix(user)}cover-files/"


def artwork_prefix(user: str) -> str:
    return f"{owned_prefix(user)}artwork/"


def artwork_key(user: str, artwork: str) -> str:
    """The key of a cover, named by the digest of its content."""
    return f"{artwork_prefix(user)}{artwork}"


def converted_key(user: str, name: str) -> str:
    """The key of a converted copy of a track."""
    return f"{owned_prefix(user)}converted/{name}"


def resized_key(user: str, artwork: str, size: int) -> str:
    """The name of a cover whose sides have at most so many pixels."""
    return f"{owned_prefix(user)}covers/{artwork}.{size}"


def is_owned(user: str, key: str) -> bool:
    """Whether the user may register and read an object of the server's bucket."""
    try:
        check_key(key)
    except BadArgument:
        return False
    return key.startswith(owned_prefix(user))


def file_name_of(key: str) -> str:
    return key.rpartition("/")[2]


def check_file_name(name: str) -> None:
    """Raise Invalid if the name cannot be the last segment of a key."""
    try:
        check_key(name)
    except BadArgument as error:
        raise Invalid([FieldProblem(["fileName"], error.message)]) from None
    if problem := invisible_character_problem(name):
        raise Invalid([FieldProblem(["fileName"], problem)])
    if "/" in name or "\\" in name or len(name.encode()) > NAME_BYTES:
        words = f"has no slashes and at most {NAME_BYTES} bytes"
        raise Invalid([FieldProblem(["fileName"], words)])
