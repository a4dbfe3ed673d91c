"""Vaults: a secret opens only in the context that it was sealed for."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access.kms_vault import KmsVault
from penstock.datastore.access.vault import NO_VAULT, LocalVault, TamperedSecret, Vault
from penstock.datastore.errors import Unavailable
from tests.support.stores import NOBODY, REGION, aws_environment, moto_endpoint

SECRET = b"wJalrXUtnFEMI/K7MDENG"
CONTEXT = {"owner": "ann", "connection": "1", "purpose": "test"}


@pytest.fixture(params=["local", "kms"])
async def vault(request: pytest.FixtureRequest) -> AsyncIterator[Vault]:
    if request.param == "local":
        yield LocalVault(b"k" * 32)
        return
    with aws_environment():
        opened = await KmsVault.open_with("", region=REGION, endpoint_url=moto_endpoint())
    made = await opened._client.create_key()
    opened._key_id = made["KeyMetadata"]["KeyId"]
    yield opened
    await opened.close()


async def test_a_secret_comes_back_as_it_was(vault: Vault) -> None:
    sealed = await vault.seal(SECRET, CONTEXT)
    assert await vault.open(sealed, dict(reversed(CONTEXT.items()))) == SECRET
    assert SECRET.decode() not in sealed


@pytest.mark.parametrize(
    "context", [{**CONTEXT, "owner": "bob"}, {**CONTEXT, "connection": "2"}, {}]
)
async def test_a_secret_does_not_open_for_anything_else(
    vault: Vault, context: dict[str, str]
) -> None:
    sealed = await vault.seal(SECRET, CONTEXT)
    with pytest.raises(TamperedSecret):
        await vault.open(sealed, context)


async def test_what_was_sealed_elsewhere_does_not_open(vault: Vault) -> None:
    for foreign in (
        await LocalVault(b"x" * 32).seal(SECRET, CONTEXT),
        "kms:AAAA",
        "kms:A",
        "aes-256-gcm:A",
        "aes-256-gcm:AAAA",
        "plain",
        "",
    ):
        with pytest.raises(TamperedSecret):
            await vault.open(foreign, CONTEXT)


@given(st.binary(max_size=100), st.integers(0, 200))
async def test_no_ciphertext_that_was_changed_opens(secret: bytes, at: int) -> None:
    vault = LocalVault(b"k" * 32)
    sealed = await vault.seal(secret, CONTEXT)
    place = len("aes-256-gcm:") + at % (len(sealed) - len("aes-256-gcm:") - 4)
    other = "A" if sealed[place] != "A" else "B"
    with pytest.raises(TamperedSecret):
        await vault.open(f"{sealed[:place]}{other}{sealed[place + 1 :]}", CONTEXT)


async def test_two_seals_of_one_secret_are_not_alike() -> None:
    vault = LocalVault(b"k" * 32)
    assert await vault.seal(SECRET, CONTEXT) != await vault.seal(SECRET, CONTEXT)


def test_a_key_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        LocalVault(b"k" * 31)


async def test_without_a_vault_no_secret_is_kept() -> None:
    for call in (NO_VAULT.seal(SECRET, CONTEXT), NO_VAULT.open("x", CONTEXT)):
        with pytest.raises(Unavailable, match="PENSTOCK_KMS_KEY"):
            await call


async def test_a_key_service_that_fails_is_said_to() -> None:
    with aws_environment():
        vault = await KmsVault.open_with("k", region=REGION, endpoint_url=moto_endpoint())
        away = await KmsVault.open_with("k", region=REGION, endpoint_url=NOBODY)
    try:
        with pytest.raises(Unavailable, match="cannot be used"):
            await vault.seal(SECRET, CONTEXT)
        with pytest.raises(Unavailable, match="did not answer"):
            await away.seal(SECRET, CONTEXT)
    finally:
        await vault.close()
        await away.close()
