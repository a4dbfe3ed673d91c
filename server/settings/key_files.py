"""Files with a secret of this installation; the first process that needs one creates it."""

import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

URL_KEY = "url-key"
VAULT_KEY = "vault-key"
PREVIOUS_VAULT_KEY = "vault-key-previous"
KEY_BYTES = 32


class BadKeyFile(Exception):
    """The key file has other content, or cannot be read or created; the message names it."""


def make_once(path: Path, content: Callable[[], bytes]) -> None:
    """Write the file under a temporary name and link it: the first link wins, and is complete.

    Only the owner can read the file. Files of processes that were killed meanwhile are removed.
    """
    made = content()
    path.parent.mkdir(parents=True, exist_ok=True)
    with _hold_folder(path.parent):
        for abandoned in path.parent.glob(f".{path.name}.*"):
            abandoned.unlink(missing_ok=True)
        _link_once(path, made)


@contextmanager
def _hold_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from the block for the same folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _link_once(path: Path, made: bytes) -> None:
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
    """Return the key that signs the URLs of files; the directory's file is made on first use."""
    key = _read_or_make(data_dir / URL_KEY)
    if len(key) < KEY_BYTES:
        raise BadKeyFile(f"{data_dir / URL_KEY} is too short; remove it and one will be made.")
    return key


def vault_key(data_dir: Path) -> bytes:
    """Return the key that encrypts users' secrets, which are lost without it."""
    key = _read_or_make(data_dir / VAULT_KEY)
    if len(key) != KEY_BYTES:
        raise BadKeyFile(f"{data_dir / VAULT_KEY} does not have {KEY_BYTES} bytes.")
    return key


def previous_vault_key(data_dir: Path) -> bytes | None:
    """Return the key that encrypted users' secrets before; None where it was never changed."""
    path = data_dir / PREVIOUS_VAULT_KEY
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadKeyFile(f"{path}: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise BadKeyFile(f"{path} does not have {KEY_BYTES} bytes.")
    return key


def _read_or_make(path: Path) -> bytes:
    try:
        if not path.exists():
            make_once(path, lambda: secrets.token_bytes(KEY_BYTES))
        return path.read_bytes()
    except OSError as error:
        raise BadKeyFile(f"{path}: {error.strerror}") from error
