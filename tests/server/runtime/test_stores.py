"""The file store of each kind of store, and its URLs in the application."""

import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import aioboto3
import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import Files
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.store import Store
from penstock.server.runtime.stores import build_store, open_files, server_url
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.key_files import BadKeyFile, url_key
from penstock.server.settings.settings import Settings
from tests.support.application import open_application
from tests.support.stores import REGION, aws_environment, moto_endpoint


async def chunks(*texts: bytes) -> AsyncIterator[bytes]:
    for text in texts:
        yield text


async def test_what_is_uploaded_by_form_is_downloaded_from_the_same_application(
    store: Store, tmp_path: Path
) -> None:
    settings = Settings.load(data_dir=tmp_path, public_url="http://localhost")
    async with open_files(settings) as files:
        form = await files.presign_upload(
            "datasets/a", max_bytes=3, content_type="text/csv", expires_in=60
        )
        async with open_application(replace(store, files=files), tmp_path) as app:
            sent = await app.client.post(form.url, data=dict(form.fields), files={"file": b"k,v"})
            assert sent.status_code == 204
            download = await files.presign_download("datasets/a", expires_in=60)
            assert download.url.startswith("http://localhost/files/")
            assert (await app.client.get(download.url)).content == b"k,v"


async def test_urls_outlive_the_process_that_signed_them(store: Store, tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, public_url="http://localhost")
    async with open_files(settings) as files:
        await files.write("a", chunks(b"x"), content_type="text/plain")
        download = await files.presign_download("a", expires_in=60)
    async with (
        open_files(settings) as files,
        open_application(replace(store, files=files), tmp_path) as app,
    ):
        assert (await app.client.get(download.url)).content == b"x"


async def test_an_application_without_a_directory_has_no_urls_of_files(
    store: Store, tmp_path: Path
) -> None:
    async with open_application(Store(store.table), tmp_path) as app:
        assert (await app.client.get("/files/a.b")).status_code == 404


async def test_a_bucket_goes_with_dynamodb() -> None:
    bucket = f"files-{uuid4()}"
    chosen = {"store": "dynamodb", "bucket": bucket, "s3_endpoint_url": moto_endpoint()}
    with aws_environment():
        async with aioboto3.Session().client("s3", endpoint_url=moto_endpoint()) as client:
            await client.create_bucket(Bucket=bucket)
        async with open_files(Settings.load(**chosen, region=REGION)) as files:
            assert isinstance(files, S3Files)
            assert await files.verify() == []
            await files.write("a", chunks(b"x"), content_type="text/plain")
            assert await files.list("") == ("a",)


async def test_a_bucket_that_is_missing_is_told() -> None:
    chosen = {"store": "dynamodb", "bucket": "missing", "s3_endpoint_url": moto_endpoint()}
    with aws_environment():
        async with open_files(Settings.load(**chosen, region=REGION)) as files:
            assert await files.verify() == ["There is no bucket missing."]


async def test_without_a_bucket_every_call_for_a_file_is_refused() -> None:
    async with open_files(Settings.load(store="dynamodb")) as files:
        assert files is NO_FILES
        assert await files.verify() == []
        for call in (
            files.presign_upload("a", max_bytes=1, content_type="text/csv", expires_in=1),
            files.presign_download("a", expires_in=1),
            files.stat("a"),
            first(files),
            files.write("a", chunks(b"x"), content_type="text/csv"),
            files.copy("a", "b"),
            files.delete("a"),
            files.list(""),
        ):
            with pytest.raises(Unavailable, match="PENSTOCK_BUCKET is not set"):
                await call


async def first(files: Files) -> bytes:
    return await anext(files.read("a"))


def test_the_store_of_a_server_has_the_files(store: Store) -> None:
    assert build_store(store.table, Settings.load()).files is NO_FILES


def test_the_store_of_a_server_keeps_executions_for_the_days_of_the_setting(store: Store) -> None:
    rules = build_store(store.table, Settings.load(keep_executions_days=3)).execution_rules
    assert rules.retention == timedelta(days=3)
    assert build_store(store.table, Settings.load()).execution_rules == store.execution_rules


def test_the_address_is_the_public_url_or_else_where_the_server_listens() -> None:
    assert server_url(Settings.load(), "127.0.0.1", 80) == "http://127.0.0.1:80"
    assert server_url(Settings.load(), "::1", 80) == "http://[::1]:80"
    public = Settings.load(public_url="https://api.example.org/penstock")
    assert server_url(public, "127.0.0.1", 80) == "https://api.example.org/penstock"


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x/", "http://x?y", "x y"])
def test_a_public_url_has_a_scheme_and_no_slash_at_its_end(url: str) -> None:
    with pytest.raises(InvalidSettings, match="PENSTOCK_PUBLIC_URL"):
        Settings.load(public_url=url)


def test_the_key_of_urls_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    made = url_key(tmp_path / "data")
    assert len(made) == 32
    assert url_key(tmp_path / "data") == made != url_key(tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "data" / "url-key").stat().st_mode) == 0o600


def test_what_a_kill_left_of_making_a_key_goes_when_the_key_is_made(tmp_path: Path) -> None:
    (tmp_path / ".url-key.k1lled").write_bytes(b"secret")
    (tmp_path / ".vault-key.other").write_bytes(b"secret")
    url_key(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".vault-key.other", "url-key"]


def test_a_key_of_urls_that_is_cut_off_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "url-key"
    path.write_bytes(b"short")
    with pytest.raises(BadKeyFile, match="url-key is too short; remove it"):
        url_key(tmp_path)
    assert path.read_bytes() == b"short"


def test_a_directory_for_the_key_of_urls_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadKeyFile, match="file/data/url-key: Not a directory"):
        url_key(tmp_path / "file" / "data")


def test_nothing_is_loaded_that_is_not_used() -> None:
    """Each command, server and worker would start half a second later."""
    code = """import sys
import penstock.server.commands.client.run
print({"penstock.datastore.store", "penstock.schema"} & set(sys.modules))
import penstock.server.commands.serve, penstock.server.runtime.worker
print({"aiobotocore", "aiohttp", "botocore", "boto3"} & set(sys.modules))"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "set()\nset()\n"
