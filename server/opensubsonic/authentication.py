"""The caller of a call: an API key, or a password that a user made for a player.

An API key stands in `apiKey`, or in the place of a password; the password of a player there too, or
in the digest `t` of itself and the salt `s`. Answers and logs never hold a parameter, because
parameters hold keys.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import md5
from typing import Final

from starlette.datastructures import Headers

from penstock.datastore.api_keys import KeyText
from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.player_passwords import PlayerAuthenticator
from penstock.server.auth.tokens import Authenticator
from penstock.server.edge.rate_limit import take_place
from penstock.server.opensubsonic.answers import SubsonicCode, SubsonicError
from penstock.server.opensubsonic.parameters import Parameters

_ENCODED: Final = "enc:"


@dataclass(frozen=True, slots=True)
class PlayerSignIn:
    """The ways in which players sign in: with API keys, and with passwords of players."""

    keys: Authenticator
    passwords: PlayerAuthenticator

    async def authenticate(self, parameters: Parameters) -> Caller:
        """Return the user of the credentials; raises SubsonicError."""
        key, user, password = (parameters.get(name) for name in ("apiKey", "u", "p"))
        is_token = bool(parameters.get("t") or parameters.get("s"))
        if key:
            if user or password or is_token:
                raise _conflict("apiKey stands alone")
            refusal = SubsonicError(SubsonicCode.INVALID_API_KEY, "Invalid API key.")
            return await self._caller_of_key(key, refusal)
        if is_token and password:
            raise _conflict("p, and t with s")
        user = parameters.require("u")
        refusal = SubsonicError(SubsonicCode.WRONG_PASSWORD, "Wrong username or password.")
        if is_token:
            token, salt = parameters.require("t"), parameters.require("s")
            return await self._caller_of_password(user, _token_check(token, salt), refusal)
        text = _decode_password(parameters.require("p"))
        if KeyText.parse(text) is None:
            return await self._caller_of_password(user, _text_check(text), refusal)
        caller = await self._caller_of_key(text, refusal)
        if caller.user_id != user:
            raise refusal
        return caller

    async def _caller_of_key(self, key: str, refusal: SubsonicError) -> Caller:
        """Accept API keys alone: a token of an issuer must not stand in a URL."""
        if KeyText.parse(key) is None:
            raise refusal
        try:
            return await self.keys.caller_of(Headers({"authorization": f"Bearer {key}"}))
        except NotAuthenticated:
            raise refusal from None

    async def _caller_of_password(
        self, user: str, is_proven: Callable[[str], bool], refusal: SubsonicError
    ) -> Caller:
        caller = await self.passwords.caller_of(user, is_proven)
        if caller is None:
            raise refusal
        take_place(caller)
        return caller


def _conflict(words: str) -> SubsonicError:
    message = f"Multiple conflicting authentication mechanisms provided: {words}."
    return SubsonicError(SubsonicCode.CONFLICTING_AUTHENTICATION, message)


def _token_check(token: str, salt: str) -> Callable[[str], bool]:
    """Whether a password has the token with the salt, as the specification computes it."""
    given, salted = _bytes_of(token.lower()), _bytes_of(salt)

    def is_proven(password: str) -> bool:
        found = md5(password.encode() + salted, usedforsecurity=False).hexdigest()
        return hmac.compare_digest(found.encode(), given)

    return is_proven


def _text_check(text: str) -> Callable[[str], bool]:
    given = _bytes_of(text)
    return lambda password: hmac.compare_digest(password.encode(), given)


def _bytes_of(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _decode_password(text: str) -> str:
    """Return the password, which may be written as `enc:` and hexadecimal digits of UTF-8."""
    if not text.startswith(_ENCODED):
        return text
    try:
        return bytes.fromhex(text.removeprefix(_ENCODED)).decode()
    except ValueError:
        return ""
