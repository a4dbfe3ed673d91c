"""A vault whose key never leaves AWS's Key Management Service."""

from base64 import b64decode, b64encode
from contextlib import AsyncExitStack
from typing import Any, Final, Self

from botocore.exceptions import ClientError

from penstock.datastore.access.vault import SecretContext, TamperedSecret
from penstock.datastore.aws.session import aws_session, client_config
from penstock.datastore.dynamodb.failures import (
    LOST_ANSWER,
    STRANGE_ANSWER,
    error_code,
    own_credentials,
)
from penstock.datastore.errors import Unavailable

SECONDS: Final = 3.0
_FORM: Final = "kms:"
_FOREIGN: Final = frozenset({"InvalidCiphertextException", "IncorrectKeyException"})


class KmsVault:
    """A vault that encrypts under one KMS key; the context is KMS's encryption context."""

    def __init__(self, key_id: str, client: Any, held: AsyncExitStack) -> None:
        self._key_id = key_id
        self._client = client
        self._held = held

    @classmethod
    async def open_with(
        cls, key_id: str, *, region: str | None = None, endpoint_url: str | None = None
    ) -> Self:
        """Make the client; nothing is sent. Credentials come from AWS's ordinary chain."""
        config = client_config(
            connect_timeout=SECONDS,
            read_timeout=SECONDS,
            retries={"mode": "standard", "total_max_attempts": 2},
        )
        session = aws_session()
        held = AsyncExitStack()
        client = await held.enter_async_context(
            session.client("kms", region_name=region, endpoint_url=endpoint_url, config=config)
        )
        return cls(key_id, client, held)

    async def seal(self, secret: bytes, context: SecretContext) -> str:
        blob = await self._call(
            "encrypt", "CiphertextBlob", Plaintext=secret, EncryptionContext=dict(context)
        )
        return _FORM + b64encode(blob).decode()

    async def open(self, sealed: str, context: SecretContext) -> bytes:
        if not sealed.startswith(_FORM):
            raise TamperedSecret("not of this vault")
        try:
            blob = b64decode(sealed.removeprefix(_FORM))
        except ValueError:
            raise TamperedSecret("not of this vault") from None
        return await self._call(
            "decrypt", "Plaintext", CiphertextBlob=blob, EncryptionContext=dict(context)
        )

    async def close(self) -> None:
        await self._held.aclose()

    async def _call(self, name: str, result: str, **arguments: object) -> bytes:
        """Call KMS, and return one field of its answer."""
        try:
            with own_credentials():
                answer = await getattr(self._client, name)(KeyId=self._key_id, **arguments)
            found: bytes = answer[result]
            if not found:
                raise ValueError("An answer of KMS has no bytes.")
        except ClientError as error:
            if error_code(error) in _FOREIGN:
                raise TamperedSecret("not sealed for this") from None
            # Only the operator can repair a key that is disabled, missing or not permitted.
            raise Unavailable("The key of the vault cannot be used.") from error
        except (*LOST_ANSWER, *STRANGE_ANSWER) as error:
            raise Unavailable("The vault did not answer.") from error
        return found
