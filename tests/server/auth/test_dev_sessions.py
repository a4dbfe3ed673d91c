"""One-time codes, and the sessions that pages get for them."""

import os
import stat
import time
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.server.auth.dev_identity import DevIdentity
from penstock.server.auth.dev_sessions import (
    CODE_LIFETIME,
    CODES,
    RENEW_AFTER,
    SESSION_LIFETIME,
    BadCodes,
    DevSessions,
    issue_code,
    redeem_code,
)
from penstock.server.auth.dev_tokens import (
    DEV_ISSUER,
    DEV_TOKEN_LIFETIME,
    DEV_USER,
    dev_key,
    sign_dev_claims,
    sign_dev_token,
)
from penstock.server.auth.tokens import dev_authenticator
from penstock.server.settings.settings import Settings
from tests.server.auth.races import race
from tests.server.auth.signed_tokens import bearer

CALLER = Caller(DEV_USER, {ROOT: Role.ADMIN}, ROOT)


def sessions_of(data_dir: Path) -> DevSessions:
    return DevSessions(DevIdentity(dev_key(data_dir), CALLER), data_dir)


def codes_in(data_dir: Path) -> list[Path]:
    return sorted((data_dir / CODES).iterdir())


def set_age(path: Path, age: timedelta) -> None:
    then = time.time() - age.total_seconds()
    os.utime(path, (then, then))


def test_a_code_is_used_once(tmp_path: Path) -> None:
    code, other = issue_code(tmp_path), issue_code(tmp_path)
    assert code != other
    assert redeem_code(tmp_path, code)
    assert not redeem_code(tmp_path, code)
    assert redeem_code(tmp_path, other)
    assert codes_in(tmp_path) == []


def test_of_processes_that_race_for_a_code_one_gets_it(tmp_path: Path) -> None:
    code = issue_code(tmp_path)
    assert sorted(race("code", str(tmp_path), code)) == ["False", "False", "True"]


@pytest.mark.parametrize(
    "code", ["", "a", "../dev-key.json", "a\0b", "\ud800", "a" * 100_000, "/etc/passwd"]
)
def test_no_other_text_is_a_code(tmp_path: Path, code: str) -> None:
    assert not redeem_code(tmp_path, code)
    issue_code(tmp_path)
    dev_key(tmp_path)
    assert not redeem_code(tmp_path, code)
    assert (len(codes_in(tmp_path)), (tmp_path / "dev-key.json").exists()) == (1, True)


def test_a_code_expires_and_is_removed(tmp_path: Path) -> None:
    early, late = issue_code(tmp_path), issue_code(tmp_path)
    for path in codes_in(tmp_path):
        set_age(path, CODE_LIFETIME - timedelta(minutes=1))
    assert redeem_code(tmp_path, early)
    set_age(codes_in(tmp_path)[0], CODE_LIFETIME + timedelta(minutes=1))
    assert not redeem_code(tmp_path, late)
    issue_code(tmp_path)
    set_age(codes_in(tmp_path)[0], CODE_LIFETIME + timedelta(minutes=1))
    issue_code(tmp_path)
    assert len(codes_in(tmp_path)) == 1


def test_the_directory_holds_no_code_and_is_private(tmp_path: Path) -> None:
    code = issue_code(tmp_path)
    (path,) = codes_in(tmp_path)
    assert code not in path.name
    assert path.read_bytes() == b""
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (path, path.parent)]
    assert modes == [0o600, 0o700]


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadCodes, match=r"file/sign-in-codes: Not a directory"):
        issue_code(tmp_path / "file")


async def test_a_session_holds_a_token_of_the_identity(tmp_path: Path) -> None:
    session = sessions_of(tmp_path).open(issue_code(tmp_path))
    authenticator = dev_authenticator(Settings.load(data_dir=tmp_path))
    found = (await authenticator.authenticate(bearer(session.token))).caller
    assert (found.user_id, found.roles, found.default_group) == (DEV_USER, CALLER.roles, ROOT)
    with pytest.raises(NotAuthenticated):
        await authenticator.authenticate(bearer(session.renewal))


async def test_a_session_is_renewed_also_by_a_later_server_with_the_key(tmp_path: Path) -> None:
    first = sessions_of(tmp_path).open(issue_code(tmp_path))
    second = await sessions_of(tmp_path).renew(first.renewal)
    third = await sessions_of(tmp_path).renew(second.renewal)
    authenticator = dev_authenticator(Settings.load(data_dir=tmp_path))
    found = (await authenticator.authenticate(bearer(third.token))).caller
    assert (found.user_id, found.roles, found.default_group) == (DEV_USER, CALLER.roles, ROOT)


async def test_nothing_but_its_own_renewal_renews_a_session(tmp_path: Path) -> None:
    sessions = sessions_of(tmp_path)
    session = sessions.open(issue_code(tmp_path))
    key, foreign = dev_key(tmp_path), dev_key(tmp_path / "other")
    claims = {"sub": DEV_USER}
    hour, audience = DEV_TOKEN_LIFETIME, "penstock-dev-session"
    assert await sessions.renew(sign_dev_claims(key, audience, claims, hour))
    for bad in (
        "",
        "a",
        session.token,
        sign_dev_token(key, DEV_USER, {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME),
        sign_dev_claims(key, DEV_ISSUER, claims, hour),
        sign_dev_claims(key, audience, claims, -hour),
        sign_dev_claims(foreign, audience, claims, hour),
    ):
        with pytest.raises(NotAuthenticated):
            await sessions.renew(bad)


def test_a_token_is_renewed_while_it_is_valid() -> None:
    assert timedelta(0) < RENEW_AFTER < DEV_TOKEN_LIFETIME < SESSION_LIFETIME
