"""Calls that lead to files: redirects to signed URLs, which serve ranges of bytes.

The bytes come from the store of files, so that they take no turns and no bandwidth here.
"""

import re
from typing import Final

from starlette.responses import Response

from penstock.datastore.audio.transcoding.formats import (
    BIT_RATES,
    ENCODINGS,
    StreamFormat,
    choose_conversion,
)
from penstock.server.opensubsonic.call import Call, no_such, read_album_id
from penstock.server.opensubsonic.elements import ALBUM

_PRIVATE: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
_RAW: Final = "raw"
_FORMATS: Final = {
    **{format.value: format for format in StreamFormat},
    **{encoding.suffix: format for format, encoding in ENCODINGS.items()},
    "ogg": StreamFormat.OPUS,
}
_ARTWORK: Final = re.compile("[0-9a-z]{16,128}", re.ASCII)


async def stream(call: Call) -> Response:
    """Play a track in the wanted format and bit rate, or as it is on a server that converts none.

    `raw` is the file itself, and a `maxBitRate` of 0 is none.
    """
    wanted = call.parameters.get("format") or None
    library = call.session.audio
    track = await library.reading.get_audio_files_by_audio_id(call.parameters.require("id"))
    if wanted == _RAW or not library.converting.is_available:
        return _redirect((await library.streaming.sign_stream(track)).url)
    most = call.parameters.number("maxBitRate", 0)
    # A format that is not made is a preference that cannot be met.
    format = _FORMATS.get(wanted or "")
    conversion = choose_conversion(track, format, max(most, BIT_RATES[0]) if most else None)
    return _redirect((await library.converting.sign(track, conversion)).url)


async def download(call: Call) -> Response:
    library = call.session.audio
    track = await library.reading.get_audio_files_by_audio_id(call.parameters.require("id"))
    return _redirect((await library.streaming.sign_stream(track, attachment=True)).url)


async def get_cover_art(call: Call) -> Response:
    """Show the cover that an answer named, or that of a track or an album."""
    id = call.parameters.require("id")
    library = call.session.audio
    if id.startswith(ALBUM):
        artwork = (await library.browsing.album(read_album_id(id))).artwork
    elif _ARTWORK.fullmatch(id):
        artwork = id
    else:
        artwork = (await library.reading.get_audio_files_by_audio_id(id)).artwork
    if artwork is None:
        raise no_such("cover")
    size = call.parameters.number("size", 0) or None
    return _redirect((await library.cover_sizes.sign(artwork, size)).url)


def _redirect(url: str) -> Response:
    """Redirect with 302, after which clients send a GET, also where the call was a POST."""
    return Response(status_code=302, headers={**_PRIVATE, "location": url})
