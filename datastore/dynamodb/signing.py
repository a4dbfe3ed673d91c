"""Signature Version 4 for requests of the JSON protocol; the key of a day is kept."""

import time
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import digest
from urllib.parse import SplitResult, quote, urlsplit

from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import InvalidConfigError
from botocore.utils import normalize_url_path

_TARGET = "DynamoDB_20120810"
_CONTENT_TYPE = "application/x-amz-json-1.0"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The signing key of one user for one day (UTC); its repr hides the secrets."""

    date: str
    credentials: ReadOnlyCredentials = field(repr=False)
    scope: str
    key: bytes = field(repr=False)


class RequestSigner:
    """Writes the heads of requests to one endpoint, signed for one region."""

    def __init__(self, endpoint_url: str, region: str, user_agent: str) -> None:
        url = urlsplit(endpoint_url)
        path = url.path or "/"
        self._region = region
        self._canonical = f"POST\n{quote(normalize_url_path(path), safe='/~')}\n\n"
        self._host = _host_header(url)
        self._first = (
            f"POST {path} HTTP/1.1\r\naccept-encoding:identity\r\nuser-agent:{user_agent}\r\n"
        )
        self._day: SigningKey | None = None

    def head(
        self, operation: str, body: bytes, credentials: ReadOnlyCredentials, now: float
    ) -> bytes:
        """Write the head of a request, signed at `now`, in epoch seconds."""
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        day = self._day
        if day is None or day.date != at[:8] or day.credentials != credentials:
            day = self._day = _derive_key(at[:8], self._region, credentials)
        names, headers = self._signed_headers(operation, at, credentials.token)
        canonical = f"{self._canonical}{headers}\n{names}\n{sha256(body).hexdigest()}"
        hashed = sha256(canonical.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{at}\n{day.scope}\n{hashed}"
        signature = digest(day.key, text.encode(), "sha256").hex()
        lines = headers.replace("\n", "\r\n")
        return (
            f"{self._first}{lines}content-length:{len(body)}\r\nauthorization:AWS4-HMAC-SHA256 "
            f"Credential={credentials.access_key}/{day.scope}, SignedHeaders={names}, "
            f"Signature={signature}\r\n\r\n"
        ).encode("ascii")

    def _signed_headers(self, operation: str, at: str, token: str | None) -> tuple[str, str]:
        """The names of the signed headers, and the headers as lines."""
        start = f"content-type:{_CONTENT_TYPE}\nhost:{self._host}\nx-amz-date:{at}\n"
        target = f"x-amz-target:{_TARGET}.{operation}\n"
        if not token:
            return "content-type;host;x-amz-date;x-amz-target", start + target
        return (
            "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            f"{start}x-amz-security-token:{token}\n{target}",
        )


def _host_header(url: SplitResult) -> str:
    """The Host header in its signed form, without the default port."""
    default = {"http": ":80", "https": ":443"}[url.scheme]
    return url.netloc.rpartition("@")[2].lower().removesuffix(default)


def _derive_key(date: str, region: str, credentials: ReadOnlyCredentials) -> SigningKey:
    """Derive the key; raises InvalidConfigError for credentials that would break their header."""
    shown = credentials.access_key + (credentials.token or "")
    if not shown.isascii() or not shown.isprintable() or " " in shown:
        raise InvalidConfigError(error_msg="the access key or the token holds a space or worse")
    key = f"AWS4{credentials.secret_key}".encode()
    for part in (date, region, "dynamodb", "aws4_request"):
        key = digest(key, part.encode(), "sha256")
    return SigningKey(date, credentials, f"{date}/{region}/dynamodb/aws4_request", key)
