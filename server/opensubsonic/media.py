"""Calls that lead to files: redirects to signed URLs, which serve ranges of bytes.

The bytes come from the store of files, so that they take no turns and no bandwidth here.
"""

import re
from typing import Final

from starlette.responses import Response

from penstock.server.opensubsonic.call import Call, no_such, read_album_id
from penstock.server.opensubsonic.elements import ALBUM

_PRIVATE: Final = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
_ARTWORK: Final = re.compile("[0-9a-z]{16,128}", re.ASCII)


async def stream(call: Call) -> Response:
    return await _redirect_to_track(call, attachment=False)


async def download(call: Call) -> Response:
    return await _redirect_to_track(call, attachment=True)


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
    return _redirect((await library.streaming.sign_cover(artwork)).url)


async def _redirect_to_track(call: Call, *, attachment: bool) -> Response:
    library = call.session.audio
    id = call.parameters.require("id")
    track = await library.reading.get_audio_files_by_audio_id(id)
    return _redirect((await library.streaming.sign_stream(track, attachment=attachment)).url)


def _redirect(url: str) -> Response:
    """Redirect with 302, after which clients send a GET, also where the call was a POST."""
    return Response(status_code=302, headers={**_PRIVATE, "location": url})
