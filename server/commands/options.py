"""Command-line options shared by commands: those for a setting, for the store, and durations."""

import re
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.settings.invalid_settings import PREFIX
from penstock.server.settings.settings import Settings


def setting_option(setting: str, description: str | None = None) -> Parameter:
    """Describe the option for a setting, in the setting's words or in those of the command.

    The command's parameter defaults to None, which `Settings.load` takes for an absent option.
    """
    field = Settings.model_fields[setting]
    shown = isinstance(field.default, str | int | float | Path) and field.annotation is not bool
    default = f" By default `{field.default}`." if shown else ""
    return Parameter(
        help=f"{description or field.description}{default} Also `{PREFIX}{setting.upper()}`.",
        show_default=False,
    )


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options that choose the store; None leaves the choice to the settings."""

    store: Annotated[Literal["sqlite", "dynamodb"] | None, setting_option("store")] = None
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None
    table: Annotated[str | None, setting_option("table")] = None
    endpoint_url: Annotated[str | None, setting_option("endpoint_url")] = None
    region: Annotated[str | None, setting_option("region")] = None

    def settings(self, **more: object) -> Settings:
        """Return the settings overridden by these options; raises InvalidSettings."""
        return Settings.load_with_options(**asdict(self), **more)


LONGEST_DURATION = timedelta(days=366)

_SPAN = re.compile(r"([1-9]\d{0,8})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_duration(option: str, text: str) -> timedelta:
    """Parse a duration like `12h`, at most `366d`; raises CommandFailed for other texts."""
    found = _SPAN.fullmatch(text)
    if found and (time := timedelta(**{_UNITS[found[2]]: int(found[1])})) <= LONGEST_DURATION:
        return time
    words = f"--{option} {text}: must be like 12h, from 1s to 366d."
    raise CommandFailed(words, code=ExitCode.USAGE)
