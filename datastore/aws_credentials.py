"""What a user's bucket is reached with: rights and sockets, known without AWS's library."""

import socket
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

SocketFactory: TypeAlias = Callable[[tuple[Any, ...]], socket.socket]


class Credentials(NamedTuple):
    """With whose rights a bucket is used; `token` belongs to rights that were lent for a while."""

    access_key: str
    secret_key: str
    token: str | None = None

    def __repr__(self) -> str:
        """For logs and tracebacks, which are no place for secrets."""
        return "Credentials()"
