"""The commands that are clients of a running server."""
