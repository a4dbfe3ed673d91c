"""What one stream may take up, and how long it is waited for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """Each limit stands by itself; times are in seconds.

    A client that takes none of what is sent for `stall_seconds` is given up. An event stream that
    has nothing to say gets a comment every `keep_alive_seconds`.
    """

    operations: int = 50
    messages_per_second: int = 50
    queue: int = 16
    init_seconds: float = 10.0
    stall_seconds: float = 30.0
    keep_alive_seconds: float = 15.0
