"""Bodies of requests that came with their heads, taken without a message and a wait."""

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle


def body_at_hand(receive: object) -> bytes | None:
    """Take the body that is behind an application's `receive`; None where some of it is to come.

    What is received after that is an empty body, then that the client left.
    """
    cycle = getattr(receive, "__self__", None)
    if type(cycle) is not RequestResponseCycle or cycle.more_body or cycle.disconnected:
        return None
    body, cycle.body = bytes(cycle.body), bytearray()
    return body
