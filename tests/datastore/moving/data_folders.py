"""The folder of an embedded store, opened as a server does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.moving.backup import DataFolder
from penstock.datastore.moving.export import MovableStore
from penstock.datastore.ngsi.destinations import EmbeddedDestinations
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.private_files import make_private_folder
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.settings.key_files import vault_key


def data_folder(path: Path) -> DataFolder:
    return DataFolder(
        path, "penstock.db", ("samples.db",), "files", ("vault-key", "vault-key-previous")
    )


@asynccontextmanager
async def running(path: Path) -> AsyncIterator[MovableStore]:
    """Open the embedded store in a folder as a server does."""
    make_private_folder(path)
    table, samples = SqliteTable.open(path / "penstock.db"), SqliteTable.open(path / "samples.db")
    await table.create()
    await samples.create()
    key = vault_key(path)
    files = await LocalFiles.open(path / "files", base_url="http://x", key=b"k" * 32)
    vault = LocalVault(key)
    try:
        yield MovableStore(table, EmbeddedDestinations(samples), files, vault, "x", "penstock")
    finally:
        await files.close()
        await samples.close()
        await table.close()
