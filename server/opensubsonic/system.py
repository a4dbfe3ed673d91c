"""Calls about the server and its user."""

from typing import Final

from penstock.server.opensubsonic.answers import Fields
from penstock.server.opensubsonic.call import Call

EXTENSIONS: Final = [
    {"name": "apiKeyAuthentication", "versions": [1]},
    {"name": "formPost", "versions": [1]},
    {"name": "indexBasedQueue", "versions": [1]},
]

_RIGHTS: Final = {
    "scrobblingEnabled": True,
    "adminRole": False,
    "settingsRole": False,
    "downloadRole": True,
    "uploadRole": False,
    "playlistRole": True,
    "coverArtRole": False,
    "commentRole": False,
    "podcastRole": False,
    "streamRole": True,
    "jukeboxRole": False,
    "shareRole": False,
    "videoConversionRole": False,
}


async def ping(_: Call) -> Fields:
    return {}


async def get_license(_: Call) -> Fields:
    return {"license": {"valid": True}}


async def token_info(call: Call) -> Fields:
    return {"tokenInfo": {"username": call.user}}


async def get_user(call: Call) -> Fields:
    """Describe the caller, whatever user is named: others are not shown."""
    return {"user": {"username": call.user, **_RIGHTS, "folder": [0]}}
