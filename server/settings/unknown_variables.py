"""Environment variables that look like settings of Penstock, and are none."""

from collections.abc import Mapping
from difflib import get_close_matches

from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings

CLIENT_VARIABLES = ("URL", "TOKEN", "PROFILE", "CONFIG")
"""What the commands that are clients read besides settings, without the prefix."""

_KNOWN = {name.upper() for name in (*Settings.model_fields, *CLIENT_VARIABLES)}


def describe_unknown_variables(variables: Mapping[str, str]) -> list[str]:
    """Return a sentence for each unknown variable, which may name the one that was meant."""
    return [
        _describe(name)
        for name in sorted(variables)
        if name.startswith(PREFIX) and name.upper().removeprefix(PREFIX) not in _KNOWN
    ]


def _describe(name: str) -> str:
    # The prefix, which all of them share, would make any two of them look alike.
    near = get_close_matches(name.removeprefix(PREFIX), _KNOWN, n=1, cutoff=0.75)
    return f"{name} is no setting." + (f" Do you mean {PREFIX}{near[0]}?" if near else "")
