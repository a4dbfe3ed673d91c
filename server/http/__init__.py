"""HTTP/1.1 as uvicorn speaks it, with less to do for what comes again and again."""

from server.http.protocol import RepeatedHeads

__all__ = ["RepeatedHeads"]
