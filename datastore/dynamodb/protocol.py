"""What a client of DynamoDB's JSON protocol is, and what each one keeps to."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from penstock.datastore.dynamodb.wire import Raw

ClientKind: TypeAlias = Literal["thin", "stock"]
"""The client of our own, or the one of AWS's library."""

DEFAULT: Final[ClientKind] = "thin"

CONNECTIONS = 64
CONNECT_SECONDS = 1.0
READ_SECONDS = 3.0


class Client(Protocol):
    """Sends requests to one endpoint, each of them once."""

    @property
    def endpoint_url(self) -> str:
        """Where requests go."""

    async def call(self, operation: str, request: Raw) -> Raw:
        """Send one request of an operation such as `GetItem`, and give the answer.

        Raises botocore's ClientError for a failure that DynamoDB tells, and one of
        `failures.LOST_ANSWER` when no whole answer came.
        """


class AccessKey(NamedTuple):
    """Credentials of one user; the secret is shown nowhere."""

    id: str
    secret: str

    def __repr__(self) -> str:
        """For logs and tracebacks."""
        return f"AccessKey({self.id})"


def user_agent() -> str:
    try:
        return f"penstock/{version('penstock')}"
    except PackageNotFoundError:
        return "penstock/source"
