"""Signatures of the thin client, compared with those of botocore."""

import time
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import InvalidConfigError
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.dynamodb.signing import RequestSigner

KEY = ReadOnlyCredentials("AKID", "secret", None, None)
URLS = st.sampled_from(
    [
        "https://dynamodb.us-east-1.amazonaws.com",
        "https://dynamodb.us-east-1.amazonaws.com:443/",
        "https://user:word@VPCE.Example.org:8443",
        "http://127.0.0.1:80",
        "http://localhost:8000/a/../b//c%20d/",
        "http://[::1]:8000/~x",
    ]
)
VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)
SECRETS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NAMES = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", min_size=1)
MOMENTS = st.integers(0, 4_102_444_800)


def headers_of(head: bytes) -> dict[str, str]:
    first, *lines = head.decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
    assert first.startswith("POST /")
    return dict(line.split(":", 1) for line in lines)


def botocores(
    url: str, region: str, headers: dict[str, str], body: bytes, key: ReadOnlyCredentials
) -> str:
    """The Authorization header that botocore gives the same request; it adds the host itself."""
    own = {name: each for name, each in headers.items() if name.startswith(("content-t", "x-amz"))}
    request: Any = AWSRequest("POST", url, headers=own, data=body)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials(key.access_key, key.secret_key, key.token), "dynamodb", region)
    signature = auth.signature(
        auth.string_to_sign(request, auth.canonical_request(request)), request
    )
    names = auth.signed_headers(auth.headers_to_sign(request))
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, SignedHeaders={names}, "
        f"Signature={signature}"
    )


@given(
    url=URLS,
    region=NAMES,
    operation=NAMES,
    body=st.binary(max_size=200),
    moments=st.lists(MOMENTS, min_size=1, max_size=3),
    keys=st.lists(
        st.builds(
            ReadOnlyCredentials, VISIBLE, SECRETS, st.none() | st.just("") | VISIBLE, st.none()
        ),
        min_size=1,
        max_size=2,
    ),
)
def test_signatures_are_botocores(
    url: str,
    region: str,
    operation: str,
    body: bytes,
    moments: list[int],
    keys: list[ReadOnlyCredentials],
) -> None:
    signer = RequestSigner(url, region, "penstock/test")
    for now in moments:
        for key in keys:
            headers = headers_of(signer.head(operation, body, key, now))
            assert headers["x-amz-target"] == f"DynamoDB_20120810.{operation}"
            assert headers["x-amz-date"] == time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
            assert headers["content-length"] == str(len(body))
            assert headers.get("x-amz-security-token", "") == (key.token or "")
            assert headers["authorization"] == botocores(url, region, headers, body, key)


@pytest.mark.parametrize("shown", ["with space", "two\r\nlines: 1", "ümlaut"])
def test_credentials_do_not_leave_their_header(shown: str) -> None:
    signer = RequestSigner("http://localhost", "us-east-1", "penstock/test")
    for key in (KEY._replace(access_key=shown), KEY._replace(token=shown)):
        with pytest.raises(InvalidConfigError):
            signer.head("GetItem", b"{}", key, 0)


def test_the_host_is_in_lower_case_and_without_a_port_that_goes_without_saying() -> None:
    hosts = [
        headers_of(RequestSigner(url, "us-east-1", "penstock/test").head("GetItem", b"", KEY, 0))[
            "host"
        ]
        for url in ("https://User@A.b:443/", "http://a:443", "http://[::1]:80")
    ]
    assert hosts == ["a.b", "a:443", "[::1]"]
