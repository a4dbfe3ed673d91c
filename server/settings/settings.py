"""The settings of a server: one environment variable each, typed, checked together, and frozen."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self, get_args

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from penstock.server.settings.address_settings import AddressSettings
from penstock.server.settings.invalid_settings import PREFIX, InvalidSettings
from penstock.server.settings.limit_settings import LimitSettings
from penstock.server.settings.lineage_settings import LineageSettings
from penstock.server.settings.ngsi_settings import NgsiSettings
from penstock.server.settings.quota_settings import QuotaSettings
from penstock.server.settings.secure_urls import hide_credentials, show_url
from penstock.server.settings.set_variables import SetVariables
from penstock.server.settings.sign_in_settings import SignInSettings
from penstock.server.settings.store_settings import StoreSettings
from penstock.server.settings.worker_settings import WorkerSettings


class Settings(
    SignInSettings,
    StoreSettings,
    AddressSettings,
    WorkerSettings,
    NgsiSettings,
    QuotaSettings,
    LimitSettings,
    LineageSettings,
):
    """All settings. Lists are comma-separated; an empty variable counts as unset.

    They are read, and their problems reported, from the last base to the first. The validator of a
    field sees the fields before it, so a setting that another depends on stands in a later base.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    graphiql: bool | None = Field(
        None, description="Whether the GraphiQL page is served. By default only without an issuer."
    )
    console: bool | None = Field(
        None,
        description="Whether the console is served. By default without an issuer, and with one at "
        "which the console has a client id.",
    )
    console_client_id: str | None = Field(
        None,
        min_length=1,
        description="The id with which the console signs its users in at the issuer: that of a "
        "public client, whose redirect URL is the console's. Without it the console asks for a "
        "token.",
    )
    introspection: Literal["authenticated", "off"] = Field(
        "authenticated",
        description="Callers who may read the schema by introspection, and get names suggested: "
        "all who are authenticated, or none (`off`).",
    )
    http_statuses: Literal["2025", "draft"] = Field(
        "2025",
        description="Statuses of GraphQL answers: those of the published audit suite (`2025`), or "
        "422, 294 and 405 as in the working draft of GraphQL over HTTP (`draft`).",
    )
    persisted_queries: Literal["automatic", "trusted", "off"] = Field(
        "automatic",
        description="Documents that a request may name by id: those that a client sent once with "
        "their digest (`automatic`), those of a fixed list, and then no other document runs "
        "(`trusted`), or none (`off`).",
    )
    trusted_documents: Path | None = Field(
        None,
        validate_default=True,
        description="JSON file of the trusted documents: one object from ids to texts, as "
        "graphql-codegen writes it (`persisted-documents.json`). Required with `trusted`.",
    )
    executor: Literal["compiled", "reference"] = Field(
        "compiled",
        description="Executor of operations: one that compiles repeated operations (`compiled`), "
        "or graphql-core (`reference`), which is much slower.",
    )
    opensubsonic: bool = Field(
        False,
        description="Whether music players may read and play audio libraries by the OpenSubsonic "
        "API at `/rest`. Players send API keys in URLs, which proxies may log.",
    )
    metrics: bool = Field(
        True,
        description="Whether `/metrics` is served, to every client that can connect. It holds "
        "counts and times, and no data that a client sent.",
    )
    access_log: bool = Field(
        True,
        description="Whether each operation is logged (its name, type, digest, outcome and cost), "
        "each notification, and the start and the end of each execution and job.",
    )
    shutdown_seconds: int = Field(
        10,
        gt=0,
        description="Time to finish open requests after the signal to stop, in seconds. Unfinished "
        "requests get 503.",
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="Form of the log: `text` for people, or one JSON object a line."
    )
    debug: bool = Field(
        False, description="Whether the command line shows the traceback of an unexpected failure."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read no files, and of the environment what is set."""
        return init_settings, SetVariables(settings_cls)

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Read the environment, overridden by the `given` values that are not None.

        Raises InvalidSettings with every problem.
        """
        return cls._read(given, ())

    @classmethod
    def load_with_options(cls, **options: Any) -> Self:
        """Read the environment, overridden by options of the command line that are not None.

        Raises InvalidSettings with every problem, which names the option that was typed.
        """
        return cls._read(options, [name for name, value in options.items() if value is not None])

    @classmethod
    def _read(cls, given: Mapping[str, Any], options: Collection[str]) -> Self:
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            raise InvalidSettings(_problems(error, options)) from None

    @property
    def serves_graphiql(self) -> bool:
        return self.issuer is None if self.graphiql is None else self.graphiql

    @property
    def serves_console(self) -> bool:
        usable = self.issuer is None or self.console_client_id is not None
        return usable if self.console is None else self.console

    @property
    def takes_notifications(self) -> bool:
        return self.store == "sqlite" or self.bucket is not None if self.ngsi is None else self.ngsi

    @field_validator("console_client_id")
    @classmethod
    def _check_console_client(cls, client: str | None, info: ValidationInfo) -> str | None:
        if client is not None and not info.data.get("issuer", client):
            raise ValueError("has no meaning without an issuer")
        return client

    @field_validator("trusted_documents")
    @classmethod
    def _check_trusted(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        if (info.data.get("persisted_queries") == "trusted") != (path is not None):
            raise ValueError("goes with PENSTOCK_PERSISTED_QUERIES=trusted, and only with it")
        return path


_OTHER_URLS: Final = frozenset(("allowed_origins", "dask", "issuer"))


def _problems(error: ValidationError, options: Collection[str]) -> tuple[str, ...]:
    found = []
    for problem in error.errors(include_url=False):
        setting = str(problem["loc"][0]) if problem["loc"] else ""
        name = f"{PREFIX}{setting.upper()}"
        if setting in options:
            name = f"--{setting.replace('_', '-')}"
        message = problem["msg"].removeprefix("Value error, ")
        is_shown = problem["input"] is not None and not _is_secret(setting)
        got = f" (got {_show(setting, str(problem['input']))[:60]!r})" if is_shown else ""
        found.append(f"{name}: {message[0].lower()}{message[1:]}{got}")
    return tuple(found)


def _show(setting: str, given: str) -> str:
    is_url = setting.endswith("_url") or setting in _OTHER_URLS
    return show_url(given) if is_url else hide_credentials(given)


def _is_secret(setting: str) -> bool:
    field = Settings.model_fields.get(setting)
    return field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
