"""Tokens for tests: properly signed, or assembled by hand."""

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, Key

from penstock.datastore.errors import NotAuthenticated
from penstock.server.auth.jwks import pick_key
from penstock.server.auth.tokens import Authenticator

ISSUER = "https://issuer.example.org"
AUDIENCE = "penstock-api"

RULES: dict[str, Any] = {
    "issuer": ISSUER,
    "audience": AUDIENCE,
    "algorithms": ("ES256",),
    "clock_skew": 60,
}


def ec_key(kid: str | None = "one") -> ECKey:
    return ECKey.generate_key("P-256", {"kid": kid} if kid else None)


KEY = ec_key("one")


class FixedKeys:
    """A key source with fixed keys and no issuer."""

    def __init__(self, *keys: Key) -> None:
        self._keys = keys

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        return pick_key(self._keys, kid, algorithm)

    def current_keys(self) -> object:
        return self._keys


def claims(**changes: Any) -> dict[str, Any]:
    """Return valid claims with changes; a change to None removes the claim."""
    now = int(time.time())
    usual = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ana",
        "iat": now,
        "exp": now + 300,
        "penstock:roles": {"/usa": "admin"},
    }
    return {name: value for name, value in (usual | changes).items() if value is not None}


def sign_claims(key: Key, body: dict[str, Any], alg: str = "ES256", **header: Any) -> str:
    head = {"alg": alg, "kid": key.kid} | header
    return jwt.encode(
        {name: value for name, value in head.items() if value is not None},
        body,
        key,
        algorithms=[alg],
    )


def encode_part(value: object) -> str:
    """Return one base64url segment of a token."""
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def refusal(authenticator: Authenticator, headers: Mapping[str, object]) -> str:
    """Return the message of the refusal of these headers."""
    with pytest.raises(NotAuthenticated) as raised:
        await authenticator.caller_of(headers)
    return raised.value.message
