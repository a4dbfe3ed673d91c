"""What every stream is served with, over whichever transport."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.server.auth import Session
from penstock.server.observing import WatchOperation
from penstock.server.streams.limits import StreamLimits
from penstock.server.streams.operations import Runner
from penstock.server.streams.registry import Streams

Authenticate: TypeAlias = Callable[[Mapping[str, object]], Awaitable[Session]]


@dataclass(frozen=True, slots=True)
class StreamService:
    """`authenticate` gives the session that headers prove, or raises a PenstockError.

    `watchers` are shown the operations of a WebSocket; around a request, others see to that.
    """

    runner: Runner
    authenticate: Authenticate
    streams: Streams
    limits: StreamLimits
    watchers: Sequence[WatchOperation] = ()
