"""The options that a server process gets when it starts."""

from pathlib import Path
from typing import NamedTuple

REGION = "us-east-1"
TABLE = "peers"


class PeerOptions(NamedTuple):
    """The endpoint of the records and the server's folder for files; None reads from memory."""

    endpoint: str | None
    data_dir: Path
    table: str = TABLE
