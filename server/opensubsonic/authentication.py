"""The caller of a call: an API key as `apiKey`, or in the place of a password.

The token `t` with the salt `s` needs the password itself on the server, which keeps only digests
of keys. Answers and logs never hold a parameter, because parameters hold keys.
"""

from typing import Final

from starlette.datastructures import Headers

from penstock.datastore.api_keys import KeyText
from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.tokens import Authenticator
from penstock.server.opensubsonic.answers import SubsonicCode, SubsonicError
from penstock.server.opensubsonic.parameters import Parameters

_ENCODED: Final = "enc:"


async def authenticate(parameters: Parameters, authenticator: Authenticator) -> Caller:
    """Return the user of the key; raises SubsonicError."""
    key, user, password = (parameters.get(name) for name in ("apiKey", "u", "p"))
    token = parameters.get("t") or parameters.get("s")
    if key:
        if user or password or token:
            message = (
                "Multiple conflicting authentication mechanisms provided: apiKey stands alone."
            )
            raise SubsonicError(SubsonicCode.CONFLICTING_AUTHENTICATION, message)
        refusal = SubsonicError(SubsonicCode.INVALID_API_KEY, "Invalid API key.")
        return await _caller_of(key, authenticator, refusal)
    if token and password:
        message = "Multiple conflicting authentication mechanisms provided: p, and t with s."
        raise SubsonicError(SubsonicCode.CONFLICTING_AUTHENTICATION, message)
    if token:
        message = "Token authentication is not supported: use an API key as apiKey, or as p."
        raise SubsonicError(SubsonicCode.NO_TOKEN_AUTHENTICATION, message)
    user, password = parameters.require("u"), parameters.require("p")
    refusal = SubsonicError(SubsonicCode.WRONG_PASSWORD, "Wrong username or password.")
    caller = await _caller_of(_decode_password(password), authenticator, refusal)
    if caller.user_id != user:
        raise refusal
    return caller


async def _caller_of(key: str, authenticator: Authenticator, refusal: SubsonicError) -> Caller:
    """Accept API keys alone: a token of an issuer must not stand in a URL."""
    if KeyText.parse(key) is None:
        raise refusal
    try:
        return await authenticator.caller_of(Headers({"authorization": f"Bearer {key}"}))
    except NotAuthenticated:
        raise refusal from None


def _decode_password(text: str) -> str:
    """Return the password, which may be written as `enc:` and hexadecimal digits of UTF-8."""
    if not text.startswith(_ENCODED):
        return text
    try:
        return bytes.fromhex(text.removeprefix(_ENCODED)).decode()
    except ValueError:
        return ""
