"""The configuration file of the commands that are clients: named profiles of servers.

The file is `penstock/config.toml` in the user's folder of configuration, or what
`PENSTOCK_CONFIG` names. A profile gives a `url`, and may give a `token` or a `token_file`, and a
`group`. The profile is that of `--profile`, else of `PENSTOCK_PROFILE`, else the file's `profile`.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.settings.invalid_settings import PREFIX

_TOKEN = re.compile(r"[!-~]+")
_FIELDS = ("url", "token", "token_file", "group")


@dataclass(frozen=True, slots=True)
class Profile:
    """The server that a profile names, and who the caller is there; None for what it leaves out."""

    url: str | None = None
    token: str | None = None
    group: str | None = None


def config_path(variables: Mapping[str, str]) -> Path:
    """Return the path of the configuration file, which need not exist."""
    if given := variables.get("PENSTOCK_CONFIG"):
        return Path(given)
    folder = variables.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(folder) / "penstock" / "config.toml"


def read_profile(name: str | None = None, variables: Mapping[str, str] = os.environ) -> Profile:
    """Return the chosen profile; an empty one if none is chosen.

    Raises CommandFailed for a file that cannot be read or that others can read beside a token,
    for a profile that is not there, for fields that no profile has, and for a token that is empty
    or that no header can carry.
    """
    path = config_path(variables)
    document = _read_document(path)
    chosen = option_or_variable("profile", name, variables) or document.get("profile")
    if chosen is None:
        return Profile()
    profiles = document.get("profiles", {})
    if not isinstance(profiles, dict) or not isinstance(profiles.get(chosen), dict):
        raise _failure(_say_what_is_there(path, str(chosen), profiles))
    return _profile_of(path, str(chosen), profiles[chosen])


def option_or_variable(
    name: str, option: str | None, variables: Mapping[str, str] = os.environ
) -> str | None:
    """Return the value of an option of clients, else that of its variable; None without both.

    Raises CommandFailed for an empty one, without which a script could act as the admin, and for a
    token that no header can carry.
    """
    given, value = f"--{name}", option
    if option is None:
        given = f"{PREFIX}{name.upper()}"
        value = variables.get(given)
    if value is not None and not value.strip():
        raise _failure(f"{given} is empty.")
    if name == "token" and value is not None:
        check_token(value, given)
    return value


def check_token(token: str, place: str) -> None:
    """Check that a header can carry the token: what would send it quotes it otherwise.

    Raises CommandFailed.
    """
    if not _TOKEN.fullmatch(token):
        words = "has a character that no token has, such as a space or the end of a line."
        raise _failure(f"The token of {place} {words}")


def _say_what_is_there(path: Path, chosen: str, profiles: object) -> str:
    if not path.exists():
        return f"The profile {chosen!r} is chosen, but there is no file {path}."
    known = ", ".join(profiles) if isinstance(profiles, dict) and profiles else "none"
    return f"{path} has no profile {chosen!r}; it has {known}."


def _read_document(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _failure(f"Cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _failure(f"{path} is not TOML: {error}.") from None


def _profile_of(path: Path, name: str, fields: Mapping[str, object]) -> Profile:
    for field, value in fields.items():
        if field not in _FIELDS:
            known = ", ".join(_FIELDS)
            raise _failure(f"{path}: profile {name!r} has no field {field!r}; it has {known}.")
        if not isinstance(value, str) or not value.strip():
            raise _failure(f"{path}: {field} of profile {name!r} must be a text.")
    texts = {field: str(value) for field, value in fields.items()}
    token = texts.get("token")
    if token is not None:
        _check_private(path)
        check_token(token, f"profile {name!r} in {path}")
    elif "token_file" in texts:
        token = _read_token(path.parent / Path(texts["token_file"]).expanduser())
    return Profile(texts.get("url"), token, texts.get("group"))


def _read_token(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise _failure(f"Cannot read the token in {path}: {error.strerror}.") from None
    _check_private(path)
    if not token:
        raise _failure(f"The token in {path} is empty.")
    check_token(token, str(path))
    return token


def _check_private(path: Path) -> None:
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _failure(f"{path} has a token that others can read: run `chmod 600 {path}`.")


def _failure(words: str) -> CommandFailed:
    return CommandFailed(words, code=ExitCode.USAGE)
