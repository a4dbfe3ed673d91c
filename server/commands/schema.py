"""`penstock schema`: the GraphQL schema as text."""

from penstock.schema import sdl
from penstock.server.core.command_output import Answer


def schema() -> Answer:
    """Print the GraphQL schema in the schema definition language."""
    text = sdl()
    return Answer(text.rstrip("\n"), {"sdl": text})
