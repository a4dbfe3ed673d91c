"""A form that could not be given leaves no place taken, and no row of the upload."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_uploads import open_files
from tests.support.consistency_check import contents
from tests.support.sample_resources import USA, create_groups

FORMS: list[Callable[[Session], Awaitable[object]]] = [
    lambda session: session.audio.registering.upload("1.mp3"),
    lambda session: session.playlists.uploads.form("1.m3u"),
    lambda session: session.dataset_files.upload(USA),
]


@pytest.mark.parametrize("ask", FORMS)
async def test_a_server_without_files_takes_no_place(
    table: Table, ask: Callable[[Session], Awaitable[object]]
) -> None:
    session = await create_groups(Store(table, files=NO_FILES))
    before = await contents(table)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await ask(session)
    assert await contents(table) == before


@pytest.mark.parametrize("ask", FORMS)
async def test_a_form_that_cannot_be_signed_takes_no_place(
    table: Table,
    tmp_path: Path,
    ask: Callable[[Session], Awaitable[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise Unavailable("no credentials")

    async with open_files("local", tmp_path) as files:
        session = await create_groups(replace(Store(table), files=files))
        before = await contents(table)
        monkeypatch.setattr(files, "presign_upload", fail)
        with pytest.raises(Unavailable):
            await ask(session)
        assert await contents(table) == before
