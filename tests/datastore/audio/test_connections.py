"""Connections never return their secrets, and give nobody access to foreign buckets."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import replace

from penstock.datastore.access.vault import LocalVault, TamperedSecret
from penstock.datastore.audio.assumed_roles import StsRoles
from penstock.datastore.audio.buckets import MAX_POOLED, POOLED_SECONDS, BucketPool, OpenedBucket
from penstock.datastore.audio.connections import MAX_CONNECTIONS
from penstock.datastore.audio.endpoint_rules import PUBLIC, EndpointRules
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.audio.records import BucketConnection, ConnectionKind
from penstock.datastore.audio.sources import RoleCredentials
from penstock.datastore.errors import (
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ObjectTaken,
    Unavailable,
)
from penstock.datastore.objects.port import Credentials
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put, Table
from tests.datastore.audio.sample_library import BOB, listener
from tests.datastore.audio.sample_uploads import TAGS, open_files, single_chunk, sound
from tests.support.consistency_check import contents
from tests.support.sample_resources import walk
from tests.support.stores import REGION, moto_endpoint, open_table

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
KEYS = Credentials(ACCESS_KEY, SECRET_KEY)
ROLE = "arn:aws:iam::123456789012:role/penstock/reader"
FLAC = sound("flac", 1, TAGS)


class FakeRoles:
    """Assumes the roles whose external id it knows, and records every call."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.until = datetime.now(UTC) + timedelta(hours=1)

    async def assume(self, role_arn: str, external_id: str, user: str) -> RoleCredentials:
        self.asked.append((role_arn, external_id, user))
        return RoleCredentials(Credentials("ASIALENT", "lent", "token"), self.until.timestamp())

    async def close(self) -> None:
        """Do nothing."""


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
def roles() -> FakeRoles:
    return FakeRoles()


@pytest.fixture
async def store(table: Table, roles: FakeRoles, tmp_path: Path) -> AsyncIterator[Store]:
    """The store of a server that may connect to any endpoint, as the test's own is internal."""
    buckets = BucketAccess(LocalVault(b"k" * 32), roles, EndpointRules(private=True))
    async with open_files("local", tmp_path) as files:
        yield Store(table, files=files, user_buckets=buckets)
        await buckets.pool.close()


@pytest.fixture
def library(store: Store) -> AudioLibrary:
    return listener(store)


@pytest.fixture
async def bucket(tmp_path: Path) -> AsyncIterator[S3Files]:
    """A bucket of the user's own, which contains a track."""
    async with open_files("s3", tmp_path) as files:
        assert isinstance(files, S3Files)
        await files.write("music/1.flac", single_chunk(FLAC), content_type="x/y")
        yield files


async def connect_bucket(library: AudioLibrary, bucket: str, **more: Any) -> BucketConnection:
    return await library.connections.add_keys(
        "Mine", bucket, REGION, KEYS, **{"endpoint": moto_endpoint(), **more}
    )


async def test_keys_are_kept_sealed_and_shown_masked(library: AudioLibrary, table: Table) -> None:
    made = await connect_bucket(library, "my-music")
    assert (made.kind, made.bucket, made.access_key_shown) == (
        ConnectionKind.KEYS,
        "my-music",
        "AKIA…MPLE",
    )
    assert await library.connections.many([made.id]) == [made]
    assert await walk(library.connections.page) == [made]
    assert await library.connections.unseal_keys(made.id) == KEYS
    stored = repr(await contents(table))
    assert "my-music" in stored
    for secret in (ACCESS_KEY, SECRET_KEY, SECRET_KEY[:12]):
        assert secret not in stored
        assert secret not in repr(made)


async def test_an_object_of_a_connected_bucket_is_registered_and_played(
    library: AudioLibrary, bucket: S3Files
) -> None:
    connection = await connect_bucket(library, bucket.bucket)
    track = await library.registering.register("music/1.flac", connection.id)
    assert (track.title, track.bucket, track.object_key, track.connection_id) == (
        TAGS.title,
        bucket.bucket,
        "music/1.flac",
        connection.id,
    )
    download = await library.streaming.sign_stream(track)
    asked = parse_qs(urlsplit(download.url).query)
    assert asked["X-Amz-Credential"][0].startswith(f"{ACCESS_KEY}/")
    assert SECRET_KEY not in download.url
    with pytest.raises(ObjectTaken):
        await library.registering.register("music/1.flac", connection.id)
    with pytest.raises(NotFound, match="no such object"):
        await library.registering.register("music/none.flac", connection.id)
    with pytest.raises(NotFound, match="no such object"):
        await library.registering.register("../1.flac", connection.id)


async def test_a_deleted_connection_leaves_no_ciphertext_and_plays_no_more(
    library: AudioLibrary, bucket: S3Files, table: Table
) -> None:
    connection = await connect_bucket(library, bucket.bucket)
    track = await library.registering.register("music/1.flac", connection.id)
    await library.streaming.sign_stream(track)
    assert "aes-256-gcm" in repr(await contents(table))
    assert await library.registering.sources.disconnect(connection.id) == connection
    assert "aes-256-gcm" not in repr(await contents(table))
    with pytest.raises(IllegalState, match="is gone"):
        await library.streaming.sign_stream(track)
    for call in (
        library.registering.register("music/1.flac", connection.id),
        library.connections.unseal_keys(connection.id),
        library.connections.delete(connection.id),
    ):
        with pytest.raises(NotFound, match="no connection"):
            await call


async def test_a_connection_of_somebody_else_is_absent(
    library: AudioLibrary, store: Store, bucket: S3Files, table: Table
) -> None:
    connection = await connect_bucket(library, bucket.bucket)
    theirs = listener(store, BOB)
    before = await contents(table)
    (answer,) = await theirs.connections.many([connection.id])
    assert isinstance(answer, NotFound)
    assert await walk(theirs.connections.page) == []
    for call in (
        theirs.registering.register("music/1.flac", connection.id),
        theirs.connections.unseal_keys(connection.id),
        theirs.registering.sources.disconnect(connection.id),
        theirs.registering.register("music/1.flac", "no id"),
    ):
        with pytest.raises(NotFound, match="no connection"):
            await call
    assert await contents(table) == before


async def test_a_ciphertext_does_not_open_in_the_row_of_another(
    library: AudioLibrary, store: Store, table: Table
) -> None:
    connection = await connect_bucket(library, "my-music")
    theirs = await connect_bucket(listener(store, BOB), "my-music")
    rows = await contents(table)
    (mine,) = [item for key, item in rows.items() if key.pk == "U:ann"]
    (their_row,) = [item for key, item in rows.items() if key.pk == "U:bob"]
    await table.write([Put({**their_row, "sealed": mine["sealed"]})])
    with pytest.raises(TamperedSecret):
        await listener(store, BOB).connections.unseal_keys(theirs.id)
    assert await library.connections.unseal_keys(connection.id) == KEYS


async def test_the_bucket_of_the_server_cannot_be_connected(
    library: AudioLibrary, table: Table
) -> None:
    """Otherwise a role of the server's own would open the uploads of other users."""
    own = replace(await connect_bucket(library, "my-music"), bucket="x")
    assert own.bucket == "x"
    s3 = listener(
        Store(
            table,
            files=_files_of_bucket("penstock-files"),
            user_buckets=BucketAccess(LocalVault(b"k" * 32)),
        )
    )
    for call in (
        s3.connections.add_role("n", "penstock-files", REGION, ROLE),
        s3.connections.add_keys("n", "penstock-files", REGION, KEYS),
    ):
        with pytest.raises(Invalid, match="server's own"):
            await call


def _files_of_bucket(bucket: str) -> Any:
    class NamedBucket:
        pass

    named: Any = NamedBucket()
    named.bucket = bucket
    return named


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"bucket": "Not a bucket"}, "bucket"),
        ({"bucket": "a..b"}, "bucket"),
        ({"bucket": "x/../y"}, "bucket"),
        ({"region": "us-east-1.evil.example/#"}, "region"),
        ({"keys": Credentials("no", SECRET_KEY)}, "accessKeyId"),
        ({"keys": Credentials("has space in it", SECRET_KEY)}, "accessKeyId"),
        ({"keys": Credentials(ACCESS_KEY, "short")}, "secretAccessKey"),
        ({"keys": Credentials(ACCESS_KEY, "with\nline breaks")}, "secretAccessKey"),
    ],
)
async def test_a_connection_that_breaks_a_rule_is_refused_without_repeating_secrets(
    library: AudioLibrary, table: Table, change: dict[str, Any], field: str
) -> None:
    asked: dict[str, Any] = {"name": "n", "bucket": "my-music", "region": REGION, "keys": KEYS}
    with pytest.raises(Invalid) as refused:
        await library.connections.add_keys(**{**asked, **change})
    assert [problem.path for problem in refused.value.problems] == [[field]]
    for secret in (SECRET_KEY, "short", "has space", "with\nline"):
        assert secret not in str(refused.value)
    assert await contents(table) == {}


async def test_an_endpoint_that_is_not_public_is_refused(store: Store, table: Table) -> None:
    strict = Store(
        table, files=store.files, user_buckets=BucketAccess(LocalVault(b"k" * 32), rules=PUBLIC)
    )
    library = listener(strict)
    for endpoint in ("https://169.254.169.254", "http://s3.example.org", "https://localhost"):
        with pytest.raises((Invalid, IllegalState)):
            await connect_bucket(library, "my-music", endpoint=endpoint)
    assert await contents(table) == {}


async def test_an_api_key_manages_no_connections(
    library: AudioLibrary, store: Store, table: Table
) -> None:
    connection = await connect_bucket(library, "my-music")
    by_key = listener(store, Caller("ann", {}, api_key="1"))
    before = await contents(table)
    for call in (
        connect_bucket(by_key, "my-music"),
        by_key.connections.add_role("n", "my-music", REGION, ROLE),
        by_key.connections.page(Window()),
        by_key.registering.sources.disconnect(connection.id),
    ):
        with pytest.raises(NotPermitted):
            await call
    assert await contents(table) == before


async def test_a_user_has_no_more_connections_than_a_list_shows(
    library: AudioLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.audio.connections.MAX_CONNECTIONS", 2)
    assert MAX_CONNECTIONS == 100
    for _ in range(2):
        await connect_bucket(library, "my-music")
    with pytest.raises(LimitExceeded):
        await connect_bucket(library, "my-music")


async def test_connections_that_are_made_at_one_moment_are_no_more_than_may_be(
    library: AudioLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.audio.connections.MAX_CONNECTIONS", 2)
    made = [connect_bucket(library, "my-music") for _ in range(5)]
    ended = await asyncio.gather(*made, return_exceptions=True)
    refused = [each for each in ended if isinstance(each, BaseException)]
    assert [type(each) for each in refused] == [LimitExceeded] * 3
    assert len((await library.connections.page(Window())).entries) == 2


async def test_a_server_that_assumes_no_roles_connects_none(store: Store, table: Table) -> None:
    for buckets in (BucketAccess(LocalVault(b"k" * 32)), BucketAccess()):
        library = listener(Store(table, files=store.files, user_buckets=buckets))
        with pytest.raises(Invalid, match="this server assumes no roles") as refused:
            await library.connections.add_role("n", "my-music", REGION, ROLE)
        assert [problem.path for problem in refused.value.problems] == [["roleArn"]]
        assert await contents(table) == {}


async def test_a_role_is_assumed_for_its_owner_with_the_id_made_for_it(
    library: AudioLibrary, store: Store, roles: FakeRoles
) -> None:
    one = await library.connections.add_role("Mine", "my-music", REGION, ROLE)
    other = await listener(store, BOB).connections.add_role("Mine", "my-music", REGION, ROLE)
    assert one.external_id is not None
    assert len(one.external_id) == 32
    assert one.external_id != other.external_id
    async with library.registering.sources.open_source(one.id) as source:
        opened_until, before = roles.until, datetime.now(UTC)
        roles.until = before + timedelta(minutes=20)
        download = await source.presign_download("x", expires_in=7 * 24 * 3600)
    assert roles.asked == [(ROLE, one.external_id, "ann")]
    passed, seconds = datetime.now(UTC) - before, timedelta(seconds=2)
    assert opened_until - seconds < download.expires_at < opened_until + passed + seconds
    assert parse_qs(urlsplit(download.url).query)["X-Amz-Security-Token"] == ["token"]
    with pytest.raises(NotFound):
        await library.connections.unseal_keys(one.id)
    with pytest.raises(Invalid):
        await library.connections.add_role("n", "my-music", REGION, "arn:aws:iam::1:user/x")


class FakeSts:
    """Accepts calls with the external id of the role, or any call if the role requires none."""

    def __init__(self, wanted: str | None, *failures: ClientError) -> None:
        self.wanted = wanted
        self.failures = list(failures)

    async def assume_role(self, **asked: Any) -> dict[str, Any]:
        assert len(asked["RoleSessionName"]) <= 64
        status = 403
        if self.failures:
            raise self.failures.pop(0)
        if self.wanted in (None, asked["ExternalId"]):
            keys = {"AccessKeyId": "ASIA", "SecretAccessKey": "s", "SessionToken": "t"}
            return {"Credentials": {**keys, "Expiration": datetime(2030, 1, 1, tzinfo=UTC)}}
        raise refusal("AccessDenied", status)


def refusal(code: str, status: int) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "no"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(response, "AssumeRole")


async def test_a_role_that_lets_anybody_in_is_not_used() -> None:
    """It may be one of the operator's own, whose trust policy nobody restricted."""
    held: Any = None
    with pytest.raises(IllegalState) as open_to_all:
        await StsRoles(FakeSts(None), held).assume(ROLE, "id", "ann")
    assert open_to_all.value.state == "ROLE_WITHOUT_EXTERNAL_ID"
    with pytest.raises(IllegalState) as closed:
        await StsRoles(FakeSts("another"), held).assume(ROLE, "id", "ann")
    assert closed.value.state == "ROLE_REFUSED"
    lent = await StsRoles(FakeSts("id"), held).assume(ROLE, "id", "ann")
    assert lent.credentials == Credentials("ASIA", "s", "t")
    assert lent.expires == datetime(2030, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ServiceUnavailable", 503),
        ("Throttling", 400),
        ("ExpiredToken", 403),
        ("InvalidClientTokenId", 403),
        ("SignatureDoesNotMatch", 403),
        ("RegionDisabledException", 403),
        ("403", 403),
        ("", 403),
    ],
)
async def test_a_role_is_not_used_while_nobody_knows_whether_it_lets_anybody_in(
    code: str, status: int
) -> None:
    held: Any = None
    sts = FakeSts(None, refusal(code, status))
    with pytest.raises(Unavailable):
        await StsRoles(sts, held).assume(ROLE, "id", "ann")
    assert sts.failures == []


async def test_a_role_whose_name_aws_refuses_is_not_used() -> None:
    held: Any = None
    with pytest.raises(IllegalState) as refused:
        await StsRoles(FakeSts(None, refusal("ValidationError", 400)), held).assume(
            ROLE, "id", "ann"
        )
    assert refused.value.state == "ROLE_REFUSED"


async def test_what_a_bucket_refuses_is_told_without_its_words(
    library: AudioLibrary, store: Store
) -> None:
    connection = await connect_bucket(library, f"absent-{uuid4()}"[:60])
    async with library.registering.sources.open_source(connection.id) as source:
        files: Any = source
        files.files._client.meta.events.register(
            "before-parameter-build.s3.HeadObject", _deny_access
        )
        with pytest.raises(IllegalState) as refused:
            await source.stat("x")
    assert refused.value.message == "The bucket does not let the server in."
    assert refused.value.state == "AccessDenied"


def _deny_access(**_: object) -> None:
    raise refusal("AccessDenied", 403)


async def test_an_open_bucket_is_used_again_and_closed_when_nobody_uses_it(
    store: Store, roles: FakeRoles
) -> None:
    now = [datetime.now(UTC).timestamp()]
    pool = BucketPool(lambda: now[0])
    buckets = replace_pool(store, pool)
    library = listener(Store(store.table, files=store.files, user_buckets=buckets))
    one = await library.connections.add_role("Mine", "my-music", REGION, ROLE)
    sources = library.registering.sources
    async with sources.open_source(one.id) as first, sources.open_source(one.id) as second:
        assert _files(first) is _files(second)
    async with sources.open_source(one.id) as third:
        assert _files(third) is _files(first)
        now[0] += POOLED_SECONDS
        async with sources.open_source(one.id) as fourth:
            assert _files(fourth) is not _files(first)
            await third.presign_download("x", expires_in=60)
    assert len(roles.asked) == 2
    await pool.close()


async def test_buckets_that_close_at_one_moment_fail_nobody() -> None:
    class SlowSource:
        def __init__(self) -> None:
            self.closed = 0

        async def close(self) -> None:
            self.closed += 1
            await asyncio.sleep(0)

    now, sources = [0.0], [SlowSource() for _ in range(MAX_POOLED + 30)]
    pool = BucketPool(lambda: now[0])

    async def use(number: int) -> None:
        async def open_it() -> OpenedBucket:
            return OpenedBucket(cast("Any", sources[number]), None)

        async with pool.use_bucket(("ann", str(number)), open_it):
            await asyncio.sleep(0)

    await asyncio.gather(*map(use, range(len(sources))))
    now[0] += POOLED_SECONDS
    await asyncio.gather(*map(use, range(20)))
    await pool.close()
    assert all(source.closed >= 1 for source in sources)


def replace_pool(store: Store, pool: BucketPool) -> BucketAccess:
    kept = store.user_buckets
    return BucketAccess(kept.vault, kept.roles, kept.rules, pool)


def _files(source: Any) -> S3Files:
    files: S3Files = source.files
    return files


async def test_no_secret_is_in_any_log(
    library: AudioLibrary, bucket: S3Files, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="penstock")
    connection = await connect_bucket(library, bucket.bucket)
    await library.registering.register("music/1.flac", connection.id)
    await library.registering.sources.disconnect(connection.id)
    for secret in (ACCESS_KEY, SECRET_KEY):
        assert secret not in caplog.text
