"""No service of AWS, nor whoever answers for it, chooses how much is read or where requests go."""

import os
from collections.abc import Awaitable, Callable
from math import inf
from traceback import format_exception
from unittest.mock import patch

import pytest

from penstock.datastore.access.kms_vault import KmsVault
from penstock.datastore.audio.assumed_roles import StsRoles
from penstock.datastore.aws import answers as aws_answers
from penstock.datastore.dynamodb import botocore_client, retry
from penstock.datastore.errors import IllegalState, RequestRefused, Unavailable
from penstock.datastore.objects import s3_client
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_client import Patience
from penstock.datastore.table.port import Key
from tests.datastore.audio.test_unusable_endpoints import serve
from tests.datastore.objects.conftest import stream
from tests.support.loopback_server import Answer
from tests.support.stores import REGION, aws_environment, open_dynamodb

ROLE = "arn:aws:iam::123456789012:role/music"
Use = Callable[[str], Awaitable[object]]


async def put_file(url: str) -> object:
    with aws_environment():
        files = await S3Files.open("files", region=REGION, endpoint_url=url)
    try:
        return await files.write("a/b", stream(b"secret"), content_type="text/plain")
    finally:
        await files.close()


async def list_files(url: str) -> object:
    with aws_environment():
        files = await S3Files.open("files", region=REGION, endpoint_url=url)
    try:
        return await files.list("a/")
    finally:
        await files.close()


async def seal_secret(url: str) -> object:
    with aws_environment():
        vault = await KmsVault.open_with("k", region=REGION, endpoint_url=url)
    try:
        return await vault.seal(b"secret", {"owner": "ann"})
    finally:
        await vault.close()


async def assume_role(url: str) -> object:
    with aws_environment(), patch.dict(os.environ, AWS_MAX_ATTEMPTS="1"):
        roles = await StsRoles.open(region=REGION, endpoint_url=url)
        try:
            return await roles.assume(ROLE, "id", "ann")
        finally:
            await roles.close()


async def read_row(url: str) -> object:
    table = await open_dynamodb(url, name="any", deadline=60.0, kind="stock")
    try:
        return await table.get([Key("P:1", "PV:latest")])
    finally:
        await table.close()


of_each_service = pytest.mark.parametrize(
    "use", [put_file, list_files, seal_secret, assume_role, read_row]
)


@pytest.fixture(autouse=True)
def few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_client, "OWN_PATIENCE", Patience(60.0, 60.0, 1))
    monkeypatch.setattr(retry, "_jitter", lambda: inf)


@of_each_service
@pytest.mark.parametrize("status", [302, 307, 308])
async def test_no_redirect_is_followed(use: Use, status: int) -> None:
    async with serve(Answer(200, b"{}", {"etag": '"e"'})) as (stranger, elsewhere):
        async with serve(Answer(status, b"", {"location": f"{elsewhere}/stolen"})) as (known, url):
            with pytest.raises((IllegalState, RequestRefused, Unavailable)):
                await use(url)
            assert len(known.targets) >= 1
        assert stranger.targets == []


@of_each_service
@pytest.mark.parametrize("status", [200, 403])
async def test_an_answer_is_read_as_far_as_one_of_aws(
    use: Use, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for response in (aws_answers.BoundedResponse, botocore_client.TableResponse):
        monkeypatch.setattr(response, "most_bytes", 1_000)
        monkeypatch.setattr(response, "most_error_bytes", 1_000)
    async with serve(Answer(status, b" " * 1_001)) as (_, url):
        with pytest.raises(Unavailable) as raised:
            await use(url)
    assert "more than 1000 bytes" in "".join(format_exception(raised.value))


GRANTED = """<AssumeRoleResponse><AssumeRoleResult><Credentials>
<AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>
"""
LIES_OF_STS = [
    "{}",
    "<a/>",
    "<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>",
    GRANTED.replace("2030", "not a year"),
    GRANTED.replace("SessionToken", "Token"),
    GRANTED.replace("<Expiration>2030-01-01T00:00:00Z</Expiration>", ""),
]
LIES_OF_KMS = ["", "[]", "7", "{}", *(f'{{"CiphertextBlob": {one}}}' for one in ("7", '"@"'))]


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    ("use", "lie"),
    [
        *((assume_role, lie) for lie in LIES_OF_STS),
        *((seal_secret, lie) for lie in LIES_OF_KMS),
    ],
)
async def test_an_answer_that_lacks_what_aws_always_sends_is_none(
    use: Use, lie: str, status: int
) -> None:
    async with serve(Answer(status, lie.encode())) as (_, url):
        with pytest.raises(Unavailable):
            await use(url)


@pytest.mark.parametrize("error", ["<Error/>", "<Error><Message>No.</Message></Error>"])
async def test_an_error_without_a_code_is_no_refusal_of_a_role(error: str) -> None:
    body = f"<ErrorResponse>{error}</ErrorResponse>".encode()
    async with serve(Answer(403, body)) as (known, url):
        with pytest.raises(Unavailable):
            await assume_role(url)
    assert len(known.targets) == 1


@pytest.mark.parametrize("use", [put_file, list_files])
async def test_an_error_of_s3_without_words_is_one_nevertheless(use: Use) -> None:
    async with serve(Answer(403, b"<Error><Code>AccessDenied</Code></Error>")) as (_, url):
        with pytest.raises(RequestRefused) as refused:
            await use(url)
    assert (refused.value.code, refused.value.message) == ("AccessDenied", "")
