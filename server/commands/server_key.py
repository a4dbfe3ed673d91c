"""The key of a development server, for commands that sign what this server accepts."""

from pathlib import Path

from joserfc.jwk import OKPKey

from penstock.server.auth.dev_tokens import existing_dev_key
from penstock.server.core.command_output import CommandFailed, ExitCode


def read_server_key(data_dir: Path, *, has_token_option: bool = False) -> OKPKey:
    """Return the key that a server has made in its data directory.

    Raises CommandFailed where none has: a key made here would be one that no server knows.
    """
    key = existing_dev_key(data_dir)
    if key is not None:
        return key
    named = "name its data directory by --data-dir"
    ways = f"{named}, or pass --token" if has_token_option else f"or {named}"
    message = f"{data_dir.resolve()} has no key of a server: start the server there, {ways}."
    raise CommandFailed(message, code=ExitCode.USAGE)
