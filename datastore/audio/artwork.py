"""Covers: kept once for each content among the objects of their owner."""

from base64 import b32encode
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import Final

from penstock.datastore.audio.objects import artwork_key
from penstock.datastore.audio.sniffing import picture_type
from penstock.datastore.files import Files

LETTERS: Final = 26


async def keep_artwork(files: Files, user: str, picture: bytes | None) -> str | None:
    """Keep a picture, if it is one; return what names its content."""
    kind = None if picture is None else picture_type(picture)
    if picture is None or kind is None:
        return None
    name = b32encode(sha256(picture).digest())[:LETTERS].decode().lower()
    key = artwork_key(user, name)
    if await files.stat(key) is None:
        await files.write(key, _whole(picture), content_type=kind)
    return name


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content
