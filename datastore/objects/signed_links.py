"""Signed URLs of local files: the rights of each stand in it."""

import hmac
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from penstock.datastore.objects.port import Download


class SignedLink(msgspec.Struct, frozen=True, array_like=True):
    """The rights that a signed URL grants until `expires`, in seconds since the epoch."""

    method: str
    key: str
    content_type: str | None = None
    filename: str | None = None
    max_bytes: int = 0
    expires: int = 0


class UrlSigner(NamedTuple):
    """Makes and checks URLs `<base_url>/files/<link>.<HMAC-SHA256 of the link>`."""

    base_url: str
    secret: bytes
    clock: Callable[[], float]

    def sign(self, link: SignedLink, expires_in: int) -> Download:
        link = msgspec.structs.replace(link, expires=math.ceil(self.clock() + expires_in))
        text = urlsafe_b64encode(msgspec.json.encode(link))
        url = f"{self.base_url}/files/{text.decode()}.{self._signature(text).decode()}"
        return Download(url, datetime.fromtimestamp(link.expires, UTC))

    def check(self, method: str, signed: bytes) -> SignedLink | None:
        """Read the part behind `/files/`; None if it is forged, of another method or expired."""
        text, _, signature = signed.rpartition(b".")
        if not hmac.compare_digest(self._signature(text), signature):
            return None
        link = msgspec.json.decode(urlsafe_b64decode(text), type=SignedLink)
        return link if link.method == method and self.clock() < link.expires else None

    def _signature(self, text: bytes) -> bytes:
        return hmac.digest(self.secret, text, "sha256").hex().encode()
