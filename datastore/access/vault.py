"""Vaults for users' secrets: each secret opens only in the context that it was sealed for.

The context (the owner and the purpose of a secret) is bound to the ciphertext: a ciphertext that is
moved to another row, or another table, does not open there.
"""

import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.datastore.errors import Unavailable

Context: TypeAlias = Mapping[str, str]

KEY_BYTES: Final = 32
SECRET_BYTES: Final = 4096
_NONCE_BYTES: Final = 12
_FORM: Final = "aes-256-gcm:"


class Tampered(Exception):
    """The ciphertext was not sealed with this key for this context."""


class Vault(Protocol):
    """Seals secrets of at most SECRET_BYTES, and opens them again."""

    async def seal(self, secret: bytes, context: Context) -> str:
        """Encrypt a secret for a context. Raises Unavailable."""

    async def open(self, sealed: str, context: Context) -> bytes:
        """Decrypt a secret that was sealed for the same context.

        Raises TamperedSecret or Unavailable.
        """

    async def close(self) -> None:
        """Close connections."""


class LocalVault:
    """A vault with AES-256-GCM and a key of this installation; the context is associated data."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"the key of a vault has {KEY_BYTES} bytes")
        self._cipher = AESGCM(key)

    async def seal(self, secret: bytes, context: Context) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, secret, _associated(context))
        return _FORM + b64encode(nonce + sealed).decode()

    async def open(self, sealed: str, context: Context) -> bytes:
        if not sealed.startswith(_FORM):
            raise Tampered("not of this vault")
        raw = b64decode(sealed.removeprefix(_FORM))
        try:
            return self._cipher.decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _associated(context)
            )
        except InvalidTag:
            raise Tampered("not sealed for this") from None

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class NoVault:
    """The vault of a server without a key: it cannot store secrets."""

    async def seal(self, secret: bytes, context: Context) -> str:
        raise _none()

    async def open(self, sealed: str, context: Context) -> bytes:
        raise _none()

    async def close(self) -> None:
        """Do nothing: there are no connections."""


NO_VAULT: Final[Vault] = NoVault()


def _associated(context: Context) -> bytes:
    return json.dumps(context, sort_keys=True).encode()


def _none() -> Unavailable:
    return Unavailable("This server keeps no secrets: PENSTOCK_KMS_KEY is not set.")
