"""What a server is told when it is started."""

from pathlib import Path
from typing import NamedTuple

REGION = "us-east-1"
TABLE = "peers"


class Served(NamedTuple):
    """Where the records are and where the server may keep files; no endpoint means in memory."""

    endpoint: str | None
    data_dir: Path
    table: str = TABLE
