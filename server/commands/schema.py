"""`penstock schema`: the GraphQL schema as text."""

from penstock.schema import sdl
from penstock.server.core.command_output import CommandOutput


def schema() -> CommandOutput:
    """Print the GraphQL schema in the schema definition language."""
    text = sdl()
    return CommandOutput(text.rstrip("\n"), {"sdl": text})
