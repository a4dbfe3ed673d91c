"""The development key: created once, even by concurrent processes, and private to its owner."""

import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from joserfc.jwk import OKPKey

from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import GroupPath, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, BadDevKey, dev_key, sign_dev_token
from penstock.server.auth.tokens import open_authenticator
from penstock.server.settings.settings import Settings
from tests.server.auth.races import RACERS, race
from tests.server.auth.signed_tokens import bearer


def test_processes_that_race_end_with_the_same_key(tmp_path: Path) -> None:
    directory = tmp_path / "deep" / "data"
    answers = race("key", str(directory))
    assert answers == [dev_key(directory).as_dict(private=True)["d"]] * RACERS
    assert [path.name for path in directory.iterdir()] == ["dev-key.json"]


def test_of_two_keys_made_at_once_the_first_to_be_linked_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = OKPKey.generate_key
    first: list[OKPKey] = []

    def overtaken(*args: object, **kwargs: object) -> OKPKey:
        monkeypatch.setattr(OKPKey, "generate_key", generate)
        first.append(dev_key(tmp_path))
        return generate("Ed25519", auto_kid=True)

    monkeypatch.setattr(OKPKey, "generate_key", overtaken)
    assert dev_key(tmp_path).kid == first[0].kid
    assert [path.name for path in tmp_path.iterdir()] == ["dev-key.json"]


def test_only_the_owner_may_read_the_key(tmp_path: Path) -> None:
    dev_key(tmp_path)
    assert stat.S_IMODE((tmp_path / "dev-key.json").stat().st_mode) == 0o600


def test_the_key_stays_the_same(tmp_path: Path) -> None:
    made = dev_key(tmp_path)
    assert dev_key(tmp_path).as_dict(private=True) == made.as_dict(private=True)
    assert made.kid == made.thumbprint()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "\xff",
        '{"kty": "oct", "k": "AA"}',
        json.dumps(OKPKey.generate_key("Ed25519", auto_kid=True).as_dict(private=False)),
        json.dumps(OKPKey.generate_key("Ed448", auto_kid=True).as_dict(private=True)),
        json.dumps(OKPKey.generate_key("Ed25519").as_dict(private=True)),
        "[" * 100_000,
    ],
)
def test_a_file_that_holds_no_such_key_is_named_and_left_alone(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "dev-key.json"
    path.write_text(content, "latin-1")
    with pytest.raises(BadDevKey, match=r"dev-key\.json holds no Ed25519 key; remove it"):
        dev_key(tmp_path)
    assert path.read_text("latin-1") == content


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadDevKey, match=r"file/data/dev-key\.json: Not a directory"):
        dev_key(tmp_path / "file" / "data")


async def test_a_development_token_makes_its_caller(tmp_path: Path) -> None:
    roles = {GroupPath("/usa"): Role.ADMIN, GroupPath("/emea/de"): Role.READER}
    token = sign_dev_token(
        dev_key(tmp_path), "ana", roles, GroupPath("/emea/de/x"), DEV_TOKEN_LIFETIME
    )
    async with open_authenticator(Settings.load(data_dir=tmp_path)) as authenticator:
        caller = await authenticator.caller_of(bearer(token))
        assert (caller.user_id, dict(caller.roles)) == ("ana", roles)
        assert caller.default_group == "/emea/de/x"


async def test_a_development_token_expires_and_belongs_to_its_key(tmp_path: Path) -> None:
    old = sign_dev_token(dev_key(tmp_path), "ana", {}, None, timedelta(hours=-1))
    foreign = sign_dev_token(dev_key(tmp_path / "other"), "ana", {}, None, DEV_TOKEN_LIFETIME)
    async with open_authenticator(Settings.load(data_dir=tmp_path)) as authenticator:
        with pytest.raises(NotAuthenticated, match="has expired"):
            await authenticator.caller_of(bearer(old))
        with pytest.raises(NotAuthenticated, match="unknown key"):
            await authenticator.caller_of(bearer(foreign))
