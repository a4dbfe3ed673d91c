"""Sessions of a development server's pages: one-time codes, and the tokens a page gets for them."""

import os
import secrets
import time
from asyncio import sleep
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from penstock.datastore.errors import BadArgument, NotAuthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.dev_identity import DevIdentity
from penstock.server.auth.dev_tokens import (
    DEV_ALGORITHM,
    DEV_ISSUER,
    DEV_TOKEN_LIFETIME,
    sign_dev_claims,
)
from penstock.server.auth.tokens import DevKeys, TokenAuthenticator, TokenRules
from penstock.server.settings.key_files import BadKeyFile

CODES: Final = "sign-in-codes"
CODE_LIFETIME: Final = timedelta(hours=12)
SESSION_LIFETIME: Final = timedelta(days=7)
"""Time within which a page has to renew its token, or else to be opened with a new code."""

RENEW_AFTER: Final = DEV_TOKEN_LIFETIME / 2
"""Time after which a page renews its token, while the token is still valid."""

_CODE_BYTES: Final = 32
_LONGEST_CODE: Final = 2 * _CODE_BYTES
_PAUSE_SECONDS: Final = 0.25
_LONGEST_PAUSE_SECONDS: Final = 5.0
_RENEWAL_AUDIENCE: Final = "penstock-dev-session"


class BadCodes(BadKeyFile):
    """The directory of codes cannot be read or written; the message names it."""


class DevSession(NamedTuple):
    """A token of a caller for the API, and a second one that only renews the session."""

    caller: Caller
    token: str
    renewal: str


def issue_code(data_dir: Path) -> str:
    """Return a new code, which one page may exchange once; raises BadCodes.

    Every process with the same directory accepts it. The directory holds digests only.
    """
    folder = data_dir / CODES
    code = secrets.token_urlsafe(_CODE_BYTES)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _remove_old_codes(folder)
        os.close(os.open(_path_of(folder, code), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise BadCodes(f"{folder}: {error.strerror}") from error
    return code


def redeem_code(data_dir: Path, code: str) -> bool:
    """Use the code up; tells whether it was valid. Of several processes only one succeeds."""
    if len(code) > _LONGEST_CODE:
        return False
    path = _path_of(data_dir / CODES, code)
    try:
        is_old = _is_old(path)
        path.unlink()
    except OSError:
        return False
    return not is_old


def _path_of(folder: Path, code: str) -> Path:
    return folder / sha256(code.encode(errors="replace")).hexdigest()


def _is_old(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - CODE_LIFETIME.total_seconds()


def _remove_old_codes(folder: Path) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another process uses or removes it
            if _is_old(path):
                path.unlink()


class Brake:
    """Delays the answers to wrong proofs: four a second, or each by five seconds if many wait.

    A right proof is never delayed.
    """

    def __init__(self) -> None:
        self._waiting = 0

    async def delay(self) -> None:
        """Wait for a turn after all who wait already."""
        self._waiting += 1
        try:
            await sleep(min(_PAUSE_SECONDS * self._waiting, _LONGEST_PAUSE_SECONDS))
        finally:
            self._waiting -= 1


class DevSessions:
    """Opens and renews the sessions of pages that act as the identity, or one of its others."""

    def __init__(self, identity: DevIdentity, data_dir: Path) -> None:
        self.identity = identity
        self._data_dir = data_dir
        rules = TokenRules(
            issuer=DEV_ISSUER, audience=_RENEWAL_AUDIENCE, algorithms=(DEV_ALGORITHM,), clock_skew=0
        )
        self.brake = Brake()
        self._renewals = TokenAuthenticator(rules, DevKeys(identity.key))

    def open(self, code: str) -> DevSession:
        """Return a session for the code, which is then used up; raises NotAuthenticated."""
        if not redeem_code(self._data_dir, code):
            raise NotAuthenticated("The code was used already, has expired, or is none of ours.")
        return self._sign_session(self.identity.caller)

    async def renew(self, renewal: str, act_as: str | None = None) -> DevSession:
        """Return a later session for one that has not ended, of the same caller or of `act_as`.

        Raises NotAuthenticated, and BadArgument if the page cannot act as that caller.
        """
        try:
            proven = await self._renewals.authenticate({"authorization": f"Bearer {renewal}"})
        except NotAuthenticated:
            raise NotAuthenticated("The session has ended, or is none of ours.") from None
        return self._sign_session(self._caller_of(proven.caller.user_id, act_as))

    def _caller_of(self, user: str, act_as: str | None) -> Caller:
        if act_as is not None:
            return self.identity.find(act_as)
        try:
            return self.identity.find(user)
        except BadArgument:  # the groups of the sample data are gone
            return self.identity.caller

    def _sign_session(self, caller: Caller) -> DevSession:
        identity = self.identity
        claims = {"sub": caller.user_id}
        renewal = sign_dev_claims(identity.key, _RENEWAL_AUDIENCE, claims, SESSION_LIFETIME)
        return DevSession(caller, identity.sign_token(caller), renewal)
