"""Packed bodies of requests: what is unpacked is bounded, so that no small body becomes huge."""

import zlib
from enum import StrEnum
from typing import Final

from penstock.datastore.errors import BadArgument, ErrorCode
from penstock.server.core.headers import IndexedHeaders
from penstock.server.edge.response import HttpProblem

_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
"""The argument of zlib for a stream with the header and the checksum of gzip."""


class Encoding(StrEnum):
    """The encodings in which a body may be sent."""

    IDENTITY = "identity"
    GZIP = "gzip"


def content_encoding(headers: IndexedHeaders) -> Encoding:
    """Read `Content-Encoding`; raises HttpProblem if the body has another encoding, or several."""
    given = ",".join(headers.getlist("content-encoding")).strip().lower() or Encoding.IDENTITY
    try:
        return Encoding(given)
    except ValueError:
        words = f"The body's Content-Encoding is none of {', '.join(Encoding)}."
        raise HttpProblem(
            ErrorCode.UNSUPPORTED_MEDIA_TYPE, words, headers={"accept-encoding": Encoding.GZIP}
        ) from None


def unpack_gzip(body: bytes, most: int) -> bytes:
    """Unpack one gzip stream; raises HttpProblem beyond `most` bytes, BadArgument if broken."""
    stream = zlib.decompressobj(_GZIP_BITS)
    try:
        unpacked = stream.decompress(body, most + 1)
    except zlib.error:
        raise BadArgument("The body is not gzip.") from None
    if len(unpacked) > most:
        words = f"The unpacked body is larger than {most} bytes."
        raise HttpProblem(ErrorCode.PAYLOAD_TOO_LARGE, words)
    if not stream.eof or stream.unused_data:
        raise BadArgument("The body is not one whole gzip stream.")
    return unpacked
