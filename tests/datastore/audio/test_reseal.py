"""Users' keys get a new key of the vault: all of them, also after a stop, and none is lost."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ClientError

from penstock.datastore.access.kms_vault import KmsVault
from penstock.datastore.access.reseal import ResealOutcome, reseal_secrets
from penstock.datastore.access.sealed_rows import SEALED, sealing_context
from penstock.datastore.access.vault import LocalVault, RenewedVault, TamperedSecret, Vault
from penstock.datastore.audio.connections import BucketConnections
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.objects.port import Credentials
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.port import Update
from tests.datastore.audio.sample_library import ANN, BOB
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite
from tests.support.stores import REGION, aws_environment, moto_endpoint
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")
OLD, NEW = LocalVault(b"o" * 32), LocalVault(b"n" * 32)
ODD = Caller("a:b/ü%", {})


def connections(store: Store, caller: Caller, vault: Vault) -> BucketConnections:
    buckets = BucketAccess(vault)
    return replace(store, user_buckets=buckets).open_session(caller).audio.connections


async def connect(store: Store, vault: Vault) -> dict[str, Caller]:
    """Connect buckets of three users by keys, and one without; return the owners by ids."""
    owners = {}
    for caller in (ANN, BOB, ODD):
        for _ in range(2):
            made = await connections(store, caller, vault).add_keys("n", "music", REGION, KEYS)
            owners[made.id] = caller
    by_role = replace(connections(store, ANN, vault), takes_roles=True)
    await by_role.add_role("n", "music", REGION, "arn:aws:iam::123456789012:role/reader")
    return owners


async def outcomes(store: Store, vault: RenewedVault) -> dict[ResealOutcome, int]:
    return Counter([outcome async for outcome in reseal_secrets(store.table, vault)])


async def require_keys(store: Store, owners: dict[str, Caller], vault: Vault) -> None:
    for id, caller in owners.items():
        assert await connections(store, caller, vault).unseal_keys(id) == KEYS


async def decrypt_as_aws(decrypt: Callable[..., Awaitable[Any]], **arguments: object) -> Any:
    """Decrypt; moto denies access to what another key encrypted, AWS says that it is another."""
    try:
        return await decrypt(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        raise ClientError({"Error": {"Code": "IncorrectKeyException"}}, "Decrypt") from error


@pytest.fixture
async def kms_vaults(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Vault, Vault]]:
    """Two keys of KMS."""
    opened = []
    for _ in range(2):
        with aws_environment():
            vault = await KmsVault.open_with("", region=REGION, endpoint_url=moto_endpoint())
        vault._key_id = (await vault._client.create_key())["KeyMetadata"]["KeyId"]
        monkeypatch.setattr(
            vault._client, "decrypt", partial(decrypt_as_aws, vault._client.decrypt)
        )
        opened.append(vault)
    yield opened[0], opened[1]
    for vault in opened:
        await vault.close()


async def test_every_secret_gets_the_new_key_and_can_be_used_meanwhile(store: Store) -> None:
    owners, vault = await connect(store, OLD), RenewedVault(NEW, OLD)
    await require_keys(store, owners, vault)
    fresh = await connections(store, ANN, vault).add_keys("n", "music", REGION, KEYS)
    owners[fresh.id] = ANN
    assert await outcomes(store, vault) == {ResealOutcome.RESEALED: 6, ResealOutcome.UNCHANGED: 1}
    await require_keys(store, owners, NEW)
    before = await contents(store.table)
    assert await outcomes(store, vault) == {ResealOutcome.UNCHANGED: 7}
    assert await contents(store.table) == before


@on_sqlite
async def test_a_key_of_kms_is_changed_too(store: Store, kms_vaults: tuple[Vault, Vault]) -> None:
    old, new = kms_vaults
    owners = await connect(store, old)
    (id, caller), *_ = owners.items()
    with pytest.raises(TamperedSecret):
        await connections(store, caller, new).unseal_keys(id)
    assert (await outcomes(store, RenewedVault(new, old)))[ResealOutcome.RESEALED] == 6
    await require_keys(store, owners, new)


@on_sqlite
@pytest.mark.parametrize("writes", range(6))
async def test_a_run_that_was_killed_is_repeated(store: Store, writes: int) -> None:
    owners, vault = await connect(store, OLD), RenewedVault(NEW, OLD)
    with suppress(ProcessDied):
        await outcomes(replace(store, table=CutOffTable(store.table, writes)), vault)
    await require_keys(store, owners, vault)
    assert await outcomes(store, vault) == Counter(
        {ResealOutcome.RESEALED: 6 - writes, ResealOutcome.UNCHANGED: writes}
    )
    await require_keys(store, owners, NEW)


@on_sqlite
async def test_a_connection_that_is_deleted_meanwhile_stays_deleted(store: Store) -> None:
    made = await connections(store, ANN, OLD).add_keys("n", "music", REGION, KEYS)

    async def delete() -> None:
        await connections(store, ANN, OLD).delete(made.id)

    interrupted = replace(store, table=InterruptedTable(store.table, delete))
    assert await outcomes(interrupted, RenewedVault(NEW, OLD)) == {ResealOutcome.UNCHANGED: 1}
    assert not [key for key in await contents(store.table) if key.sk.startswith("CN:")]


async def test_a_secret_that_a_server_of_the_old_key_replaces_meanwhile_gets_the_new_key(
    store: Store,
) -> None:
    made = await connections(store, ANN, OLD).add_keys("n", "music", REGION, KEYS)
    (key,) = [key for key in await contents(store.table) if key.sk.startswith("CN:")]
    context = sealing_context(key)
    assert context is not None
    replaced = Credentials("AKIAI44QH8DHBEXAMPLE", "je7MtGbClwBF/2Zp9Utk")

    async def replace_secret() -> None:
        secret = msgspec.json.encode([replaced.access_key, replaced.secret_key])
        sealed = await OLD.seal(secret, context)
        await store.table.transact([Update(key=key, set={SEALED: sealed})])

    interrupted = replace(store, table=InterruptedTable(store.table, replace_secret))
    assert await outcomes(interrupted, RenewedVault(NEW, OLD)) == {ResealOutcome.RESEALED: 1}
    assert await connections(store, ANN, NEW).unseal_keys(made.id) == replaced


@on_sqlite
async def test_what_neither_key_opens_is_counted_and_left(store: Store) -> None:
    await connect(store, LocalVault(b"x" * 32))
    before = await contents(store.table)
    assert await outcomes(store, RenewedVault(NEW, OLD)) == {ResealOutcome.LOST: 6}
    assert await contents(store.table) == before
