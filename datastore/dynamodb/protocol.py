"""The protocol of a DynamoDB client, and the constants that each implementation uses."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from penstock.datastore.dynamodb.wire import Raw

ClientKind: TypeAlias = Literal["thin", "stock"]
"""The values of a setting: `thin` is Penstock's own client (`raw_client.py`), `stock` that of AWS's
library (`botocore_client.py`)."""

DEFAULT_CLIENT: Final[ClientKind] = "thin"

CONNECTIONS = 64
CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0


class ClientLimits(NamedTuple):
    """The most connections of a client, and the seconds to connect and for a part of an answer."""

    connections: int
    connect_seconds: float
    read_seconds: float

    @classmethod
    def default(cls) -> "ClientLimits":
        return cls(CONNECTIONS, CONNECT_SECONDS, READ_SECONDS)


class DynamoDBClient(Protocol):
    """A client for one endpoint, which sends each request once."""

    @property
    def endpoint_url(self) -> str:
        """The URL that requests go to."""

    async def call(self, operation: str, request: Raw) -> Raw:
        """Send one request of an operation such as `GetItem`, and return the answer.

        Raises botocore's ClientError for a failure that DynamoDB reports, and one of
        `failures.LOST_ANSWER` when no complete answer came.
        """


class AccessKey(NamedTuple):
    """Credentials of one user; its repr hides the secret."""

    id: str
    secret: str

    def __repr__(self) -> str:
        """The key's id, for logs and tracebacks."""
        return f"AccessKey({self.id})"


def user_agent() -> str:
    try:
        return f"penstock/{version('penstock')}"
    except PackageNotFoundError:
        return "penstock/source"
