"""Keys of the objects that belong to one user, in the server's own bucket."""

from urllib.parse import quote


def owned_prefix(user: str) -> str:
    """What the keys of all of a user's objects begin with, and those of nobody else's."""
    segment = quote(user, safe="@+=,!$&'()*;~-._")
    # Dots alone would be a way up.
    return f"audio/{segment.replace('.', '%2E') if not segment.strip('.') else segment}/"
