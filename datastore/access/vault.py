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

SecretContext: TypeAlias = Mapping[str, str]

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_FORM: Final = "aes-256-gcm:"


class TamperedSecret(Exception):
    """The ciphertext was not sealed with this key for this context."""


class Vault(Protocol):
    """Seals secrets of at most 4,096 bytes, as KMS allows, and opens them again."""

    async def seal(self, secret: bytes, context: SecretContext) -> str:
        """Encrypt a secret for a context. Raises Unavailable."""

    async def open(self, sealed: str, context: SecretContext) -> bytes:
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

    async def seal(self, secret: bytes, context: SecretContext) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, secret, _associated_data(context))
        return _FORM + b64encode(nonce + sealed).decode()

    async def open(self, sealed: str, context: SecretContext) -> bytes:
        if not sealed.startswith(_FORM):
            raise TamperedSecret("not of this vault")
        try:
            raw = b64decode(sealed.removeprefix(_FORM))
            return self._cipher.decrypt(
                raw[:_NONCE_BYTES], raw[_NONCE_BYTES:], _associated_data(context)
            )
        except (InvalidTag, ValueError):
            raise TamperedSecret("not sealed for this") from None

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class RenewedVault:
    """A vault with a new key, which also opens what was sealed with the key before."""

    def __init__(self, current: Vault, previous: Vault) -> None:
        self.current: Final = current
        self._previous: Final = previous

    async def seal(self, secret: bytes, context: SecretContext) -> str:
        return await self.current.seal(secret, context)

    async def open(self, sealed: str, context: SecretContext) -> bytes:
        try:
            return await self.current.open(sealed, context)
        except TamperedSecret:
            return await self._previous.open(sealed, context)

    async def close(self) -> None:
        await self.current.close()
        await self._previous.close()


class NoVault:
    """The vault of a server without a key: it cannot store secrets."""

    async def seal(self, secret: bytes, context: SecretContext) -> str:
        raise _no_vault()

    async def open(self, sealed: str, context: SecretContext) -> bytes:
        raise _no_vault()

    async def close(self) -> None:
        """Do nothing: there are no connections."""


NO_VAULT: Final[Vault] = NoVault()


def _associated_data(context: SecretContext) -> bytes:
    return json.dumps(context, sort_keys=True).encode()


def _no_vault() -> Unavailable:
    return Unavailable("This server keeps no secrets: PENSTOCK_KMS_KEY is not set.")
