"""Files that hold a secret of this installation: made once, whoever comes first."""

import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

URL_KEY = "url-key"
URL_KEY_BYTES = 32


class BadKeyFile(Exception):
    """The file holds something else, or cannot be read or made; the message names it."""


def make_once(path: Path, content: Callable[[], bytes]) -> None:
    """Write the file under a name of its own, then link it: the first link wins, never half.

    It can be read by its owner only.
    """
    made = content()
    path.parent.mkdir(parents=True, exist_ok=True)
    # The file is made with mode 0600.
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(made)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(draft)


def url_key(data_dir: Path) -> bytes:
    """Return the key that signs the URLs of files, kept in the directory, made on first use.

    Raises BadKeyFile.
    """
    path = data_dir / URL_KEY
    try:
        if not path.exists():
            make_once(path, lambda: secrets.token_bytes(URL_KEY_BYTES))
        key = path.read_bytes()
    except OSError as error:
        raise BadKeyFile(f"{path}: {error.strerror}") from error
    if len(key) < URL_KEY_BYTES:
        raise BadKeyFile(f"{path} is too short; remove it and one will be made.")
    return key
