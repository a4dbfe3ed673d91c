"""A reference dataset from its upload over HTTP to its download, and the sweep of unused files."""

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.datasets.files import UPLOAD_RETENTION
from penstock.datastore.datasets.limits import MAX_BYTES
from penstock.datastore.errors import Unavailable
from penstock.datastore.store import Store
from penstock.server.runtime.maintenance import sweep_files_periodically
from penstock.server.runtime.stores import open_files
from penstock.server.settings.settings import Settings
from tests.support.application import ApplicationClient, open_application
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import Watch

UPLOAD = """mutation { createDatasetUpload(input: {group: "/"}) { ...on CreateDatasetUploadPayload {
  upload { id form { method url fields { name value } } } } } }"""
CONFIRM = """mutation($upload: ID!) { createReferenceDataset(input: {group: "/", name: "fuels",
  content: {columns: [{name: "fuel", type: STRING}, {name: "factor", type: NUMBER}],
    upload: $upload}}) {
  ...on CreateReferenceDatasetPayload { referenceDataset { content { rowCount } download { url } } }
  ...on ValidationProblem { problems { code line column message } } } }"""


async def ask(app: ApplicationClient, query: str, **variables: Any) -> Any:
    body = (await app.ask(query, variables)).json()
    assert "errors" not in body, body
    (value,) = body["data"].values()
    return value


async def send(app: ApplicationClient, form: Any, content: bytes) -> int:
    fields = {field["name"]: field["value"] for field in form["fields"]}
    sent = await app.client.request(
        form["method"], form["url"], data=fields, files={"file": content}
    )
    return sent.status_code


async def test_an_upload_is_sent_confirmed_corrected_and_downloaded(
    store: Store, tmp_path: Path
) -> None:
    settings = Settings.load(data_dir=tmp_path, public_url="http://localhost")
    async with (
        open_files(settings) as files,
        open_application(replace(store, files=files), tmp_path) as app,
    ):
        upload = (await ask(app, UPLOAD))["upload"]
        assert await send(app, upload["form"], bytes(MAX_BYTES + 1)) == 413
        assert await send(app, upload["form"], b"fuel,factor\ngas,2,30\n") == 204
        (problem,) = (await ask(app, CONFIRM, upload=upload["id"]))["problems"]
        assert (problem["code"], problem["line"], problem["column"]) == ("WRONG_WIDTH", 2, 1)
        csv = b'fuel,factor\n"gas, natural",2.30\nwood,0.11\n'
        assert await send(app, upload["form"], csv) == 204
        made = (await ask(app, CONFIRM, upload=upload["id"]))["referenceDataset"]
        assert made["content"] == {"rowCount": 2}
        assert (await app.client.get(made["download"]["url"])).content == csv


async def test_a_server_sweeps_at_its_start_and_again_and_again(store: Store) -> None:
    watch = Watch()

    async def chunks() -> Any:
        yield b"x"

    async def is_empty() -> bool:
        return not await store.files.list("datasets/")

    async def leave(name: str) -> None:
        key = f"datasets/uploads/a/{name}.csv"
        await store.files.write(key, chunks(), content_type="text/csv")

    watch.time = datetime.now(UTC) + UPLOAD_RETENTION + timedelta(hours=1)
    await leave("one")
    async with sweep_files_periodically(replace(store, clock=Clock(now=watch)), seconds=0.01):
        await until(is_empty)
        await leave("two")
        await until(is_empty)


async def test_a_sweep_that_fails_is_told_and_tried_again(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    class Away:
        calls = 0

        async def query(self, _query: object) -> object:
            self.calls += 1
            if self.calls == 7:  # each round queries the table for three sweeps
                third.set()
            raise Unavailable("The table is away.") if self.calls == 1 else ValueError("odd")

    away, third = Away(), asyncio.Event()
    with caplog.at_level(logging.WARNING, "penstock.files"):
        async with sweep_files_periodically(replace(store, table=away), seconds=0.01):  # type: ignore[arg-type]
            await asyncio.wait_for(third.wait(), HUNG_SECONDS)
    told = [record.getMessage() for record in caplog.records]
    assert told[:2] == ["files could not be swept: The table is away.", "files could not be swept"]
