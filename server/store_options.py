"""The options that choose a store, shared by every command that opens one."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from penstock.server.options import option
from penstock.server.settings import Settings


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where the data lies; None where the settings decide."""

    store: Annotated[Literal["sqlite", "dynamodb"] | None, option("store")] = None
    data_dir: Annotated[Path | None, option("data_dir")] = None
    table: Annotated[str | None, option("table")] = None
    endpoint_url: Annotated[str | None, option("endpoint_url")] = None
    region: Annotated[str | None, option("region")] = None

    def settings(self, **more: object) -> Settings:
        """The settings with these options on top; raises InvalidSettings."""
        return Settings.load(**asdict(self), **more)
