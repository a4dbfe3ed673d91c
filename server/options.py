"""Command-line options that stand for a setting: described once, in the settings."""

from pathlib import Path

from cyclopts import Parameter

from penstock.server.settings import PREFIX, Settings


def option(setting: str) -> Parameter:
    """Describe the option for a setting.

    The command's parameter defaults to None, for `Settings.load` to see that it was not given.
    """
    field = Settings.model_fields[setting]
    shown = isinstance(field.default, str | int | float | Path) and field.annotation is not bool
    default = f" By default `{field.default}`." if shown else ""
    return Parameter(
        help=f"{field.description}{default} Also `{PREFIX}{setting.upper()}`.", show_default=False
    )
