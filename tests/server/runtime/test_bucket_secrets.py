"""The secrets and roles for users' buckets, as the settings configure them."""

import json
import stat
from pathlib import Path

import pytest

from penstock.datastore.access.kms_vault import KmsVault
from penstock.datastore.access.vault import NO_VAULT, TamperedSecret
from penstock.datastore.audio.assumed_roles import StsRoles
from penstock.datastore.audio.sources import NO_ROLES
from penstock.datastore.errors import Unavailable
from penstock.server.command_line import run
from penstock.server.runtime.stores import open_buckets
from penstock.server.settings.key_files import BadKeyFile, vault_key
from penstock.server.settings.settings import Settings
from tests.support.stores import REGION, aws_environment

CONTEXT = {"owner": "ann"}


async def test_an_embedded_server_seals_with_a_key_of_its_own_that_stays(tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path)
    async with open_buckets(settings) as buckets:
        sealed = await buckets.vault.seal(b"secret", CONTEXT)
        assert buckets.roles is NO_ROLES
        assert not buckets.rules.private
    async with open_buckets(settings) as again:
        assert await again.vault.open(sealed, CONTEXT) == b"secret"
    async with open_buckets(Settings.load(data_dir=tmp_path / "other")) as other:
        with pytest.raises(TamperedSecret):
            await other.vault.open(sealed, CONTEXT)
    assert stat.S_IMODE((tmp_path / "vault-key").stat().st_mode) == 0o600


def test_a_key_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "vault-key").write_bytes(b"short")
    with pytest.raises(BadKeyFile, match="vault-key"):
        vault_key(tmp_path)


async def test_a_server_on_aws_keeps_secrets_with_a_key_service_only() -> None:
    with aws_environment():
        async with open_buckets(Settings.load(store="dynamodb")) as buckets:
            assert buckets.vault is NO_VAULT
            with pytest.raises(Unavailable):
                await buckets.roles.assume("arn", "id", "ann")
        chosen = Settings.load(
            store="dynamodb",
            region=REGION,
            kms_key="alias/penstock",
            assume_roles=True,
            private_endpoints=True,
        )
        async with open_buckets(chosen) as buckets:
            assert isinstance(buckets.vault, KmsVault)
            assert isinstance(buckets.roles, StsRoles)
            assert buckets.rules.private


def test_the_key_of_an_embedded_store_is_changed_by_renaming_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--data-dir", str(tmp_path)]
    assert run(["table", "create", *store]) == 0
    assert run(["table", "reseal", *store]) == 2
    assert "vault-key-previous" in capsys.readouterr().err
    before = (tmp_path / "vault-key").rename(tmp_path / "vault-key-previous").read_bytes()
    assert run(["table", "reseal", *store]) == 0
    assert "0 secrets were encrypted anew" in capsys.readouterr().out
    assert (tmp_path / "vault-key").read_bytes() != before
    (tmp_path / "vault-key-previous").write_bytes(b"short")
    assert run(["table", "reseal", *store]) != 0
    assert "vault-key-previous" in capsys.readouterr().err


async def test_a_server_opens_what_the_key_before_sealed(tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path)
    async with open_buckets(settings) as buckets:
        sealed = await buckets.vault.seal(b"secret", CONTEXT)
    (tmp_path / "vault-key").rename(tmp_path / "vault-key-previous")
    async with open_buckets(settings) as buckets:
        assert await buckets.vault.open(sealed, CONTEXT) == b"secret"
        renewed = await buckets.vault.seal(b"secret", CONTEXT)
    (tmp_path / "vault-key-previous").unlink()
    async with open_buckets(settings) as buckets:
        assert await buckets.vault.open(renewed, CONTEXT) == b"secret"
        with pytest.raises(TamperedSecret):
            await buckets.vault.open(sealed, CONTEXT)


def test_the_policy_permits_the_key_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in (("KMS_KEY", "new"), ("PREVIOUS_KMS_KEY", "old")):
        monkeypatch.setenv(f"PENSTOCK_{name}", key)
    assert run(["iam"]) == 0
    *_, vault = json.loads(capsys.readouterr().out)["Statement"]
    assert vault["Resource"] == ["arn:aws:kms:*:*:key/new", "arn:aws:kms:*:*:key/old"]


@pytest.mark.parametrize(
    ("key", "arn"),
    [
        ("1234-abcd", "arn:aws:kms:*:*:key/1234-abcd"),
        ("arn:aws:kms:eu-west-1:1:key/2", "arn:aws:kms:eu-west-1:1:key/2"),
    ],
)
def test_the_policy_permits_the_key_and_roles_that_ask_for_an_id(
    key: str, arn: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_KMS_KEY", key)
    monkeypatch.setenv("PENSTOCK_ASSUME_ROLES", "true")
    assert run(["iam"]) == 0
    *_, vault, roles = json.loads(capsys.readouterr().out)["Statement"]
    assert (vault["Action"], vault["Resource"]) == (["kms:Decrypt", "kms:Encrypt"], [arn])
    assert (roles["Action"], roles["Condition"]) == (
        ["sts:AssumeRole"],
        {"Null": {"sts:ExternalId": "false"}},
    )
