"""The settings of a server: one environment variable each, typed, checked together, and frozen."""

import re
from collections.abc import Collection, Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from penstock.datastore.dynamodb.protocol import DEFAULT_CLIENT, ClientKind
from penstock.server.settings.invalid_settings import PREFIX, InvalidSettings
from penstock.server.settings.limit_settings import LimitSettings
from penstock.server.settings.lineage_settings import LineageSettings
from penstock.server.settings.ngsi_settings import NgsiSettings
from penstock.server.settings.quota_settings import QuotaSettings
from penstock.server.settings.secure_urls import hide_credentials, is_secure


class WorkerSettings(BaseSettings):
    """The settings of serving processes, of workers, and of the Dask cluster."""

    workers: int = Field(
        1,
        gt=0,
        le=64,
        description="Number of processes that serve the port. Each uses one core; a dead one is "
        "replaced.",
    )
    execution_workers: int = Field(
        2,
        ge=0,
        le=64,
        description="Most processes of this server that run executions. They start when an "
        "execution is ready and end after an idle minute; 0 leaves executions to `penstock "
        "worker`.",
    )
    execution_cores: int = Field(
        0,
        ge=0,
        le=64,
        description="Processor cores that one execution with an input of more than 8 MB uses; 1 "
        "keeps it in one process, 0 means as many as the machine has.",
    )
    execution_poll_seconds: float = Field(
        5,
        gt=0,
        le=60,
        description="Seconds between two searches for executions that became ready on other "
        "servers. Those of the same server start at once.",
    )
    keep_executions_days: int = Field(
        30,
        ge=1,
        le=36_500,
        description="Days for which an execution is kept after its end, with its files and its "
        "history.",
    )
    keep_history_days: int = Field(
        365,
        ge=1,
        le=36_500,
        description="Days for which entries of the history of groups and resources are kept.",
    )
    upload_poll_seconds: float = Field(
        10,
        gt=0,
        le=3600,
        description="Seconds between two searches for uploaded inputs that no client has "
        "confirmed. Each search costs a request to S3 for each execution that waits for its input.",
    )
    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://[^\s/]+:\d{1,5}$",
        description="Address of a Dask scheduler (`tcp://scheduler:8786`). Workers then transform "
        "large inputs on its cluster. Needs the extra `dask`.",
    )


DATABASE = "penstock.db"


Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
]  # fmt: skip

_HOST = re.compile(r"(\*\.)?[a-z0-9.-]+|\[[0-9a-f:.]+\]|\*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?")


class Settings(WorkerSettings, NgsiSettings, QuotaSettings, LimitSettings, LineageSettings):
    """All settings. Lists are comma-separated; an empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(
        8000, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one."
    )
    admin_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="TCP port of a second listener on the same address, for `/healthz`, `/readyz` "
        "and `/metrics` only. It has places of its own, so that it answers when all connections "
        "of the other one are taken.",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^/?#\s]+(/[^?#\s]*[^/?#\s])?$",
        description="Public URL of the server, without a slash at its end. URLs of files in the "
        "data directory begin with it. If it has a path, the pages lie below that, whether a proxy "
        "takes the path away or not. By default the address that the server listens on.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Host names that requests may name, `*.example.org` for all names below one. "
        "Empty allows every name, or on a loopback address only the names of this machine. "
        "The health endpoints answer under any name.",
    )
    trusted_proxies: Annotated[tuple[IPv4Network | IPv6Network, ...], NoDecode] = Field(
        (),
        description="Networks (`10.0.0.0/8`) or addresses of proxies, whose `X-Forwarded-For` says "
        "from which address a change came, for the history. Empty believes nobody: entries have "
        "the address of the connection.",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Origins (`https://app.example.org`) of other sites whose pages may call the "
        "server. Empty allows its own pages only.",
    )
    data_dir: Path = Field(
        Path("data"),
        description="Directory for the embedded store and the development key; made when missing.",
    )
    store: Literal["sqlite", "dynamodb"] = Field(
        "sqlite",
        description="Where items are kept: `sqlite` (a file in the data directory) or `dynamodb`.",
    )
    table: str = Field(
        "penstock", pattern=r"^[A-Za-z0-9_.-]{3,255}$", description="Name of the DynamoDB table."
    )
    region: str | None = Field(
        None,
        pattern=r"^[a-z0-9-]{1,64}$",
        description="AWS region. By default that of `AWS_REGION`, `AWS_DEFAULT_REGION` or the AWS "
        "configuration.",
    )
    endpoint_url: str | None = Field(
        None, pattern="^https?://", description="URL of DynamoDB, if it is not AWS's."
    )
    dynamodb_client: ClientKind = Field(
        DEFAULT_CLIENT,
        description="DynamoDB client: `thin`, or AWS's library (`stock`), which proxies always "
        "need.",
    )
    dynamodb_connections: int = Field(
        64, gt=0, le=1000, description="Most connections of a process to DynamoDB."
    )
    dynamodb_connect_seconds: float = Field(
        1, gt=0, le=60, description="Longest time to connect to DynamoDB, in seconds."
    )
    dynamodb_read_seconds: float = Field(
        3,
        gt=0,
        le=60,
        description="Longest time without a byte of an answer of DynamoDB, in seconds; then the "
        "request is sent again.",
    )
    dynamodb_call_seconds: float = Field(
        8,
        gt=0,
        le=60,
        description="Longest time of a call of DynamoDB with all its repetitions, in seconds.",
    )
    bucket: str | None = Field(
        None,
        validate_default=True,
        pattern=r"^[A-Za-z0-9._-]{3,63}$",
        description="Name of the S3 bucket for files.",
    )
    s3_endpoint_url: str | None = Field(
        None, pattern="^https?://", description="URL of S3, if it is not AWS's."
    )
    kms_key: str | None = Field(
        None,
        pattern="^[A-Za-z0-9:/_-]{1,2048}$",
        description="Id or ARN of the KMS key that encrypts the access keys of users' own buckets, "
        "on `dynamodb`. Without it the server stores no such access keys. The embedded store uses "
        "a key in the data directory.",
    )
    previous_kms_key: str | None = Field(
        None,
        pattern="^[A-Za-z0-9:/_-]{1,2048}$",
        description="Id or ARN of the KMS key before, while `penstock table reseal` has not yet "
        "encrypted everything anew: what it encrypted can still be used.",
    )
    assume_roles: bool = Field(
        False,
        description="Whether users may connect their own buckets by IAM roles that the server "
        "assumes, on `dynamodb`.",
    )
    private_endpoints: bool = Field(
        False,
        description="Whether users may connect buckets at addresses that are not public, and over "
        "http. Every user who can sign in then makes the server send requests on its own network.",
    )
    ffmpeg: str | None = Field(
        None,
        min_length=1,
        description="Path or name of the program FFmpeg, by which the server converts audio to "
        "another format or a lower bit rate. Without it audio is served as it is.",
    )
    ffmpeg_processes: int = Field(
        1,
        ge=1,
        le=64,
        description="Most conversions of audio that run at once in one server process. Each uses "
        "one core, and up to 2 GiB of addresses.",
    )
    seed: bool = Field(
        True,
        description="Whether an empty embedded store is filled with an example at first start.",
    )

    issuer: str | None = Field(
        None,
        description="URL of the OpenID Connect issuer whose tokens are accepted, exactly as in the "
        "`iss` claim. Without one the server accepts development tokens only.",
    )
    audience: str | None = Field(
        None,
        validate_default=True,
        description="The `aud` claim that tokens must have. Required with an issuer.",
    )
    jwks_url: str | None = Field(
        None,
        description="URL of the issuer's keys. By default the one in its "
        "`/.well-known/openid-configuration`.",
    )
    algorithms: Annotated[tuple[Algorithm, ...], NoDecode] = Field(
        ("RS256", "PS256", "ES256", "EdDSA", "Ed25519"),
        description="Signature algorithms that the issuer's tokens may use.",
    )
    roles_claim: str = Field(
        "penstock:roles", min_length=1, description="Claim that holds the roles of the user."
    )
    default_group_claim: str = Field(
        "penstock:defaultGroup",
        min_length=1,
        description="Claim with the group of requests that name none.",
    )
    clock_skew_seconds: int = Field(
        60, ge=0, le=600, description="Largest difference to the issuer's clock, in seconds."
    )

    api_key_max_days: int = Field(
        365, gt=0, le=3650, description="Longest life of an API key, in days."
    )
    api_key_cache_seconds: float = Field(
        5,
        ge=0,
        le=60,
        description="Longest time for which a revoked API key may still be accepted, in seconds.",
    )

    graphiql: bool | None = Field(
        None,
        description="Whether the GraphiQL page is served. By default only without an issuer.",
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

    @field_validator(
        "allowed_hosts", "allowed_origins", "algorithms", "trusted_proxies", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @field_validator("algorithms")
    @classmethod
    def _check_algorithms(cls, algorithms: tuple[Algorithm, ...]) -> tuple[Algorithm, ...]:
        if not algorithms:
            raise ValueError("must name at least one algorithm")
        return algorithms

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(host.lower() for host in hosts)
        if wrong := [host for host in lower if not _HOST.fullmatch(host)]:
            raise ValueError(f"{wrong[0]!r} is not a host name without a port")
        return lower

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(origin.lower() for origin in origins)
        if wrong := [origin for origin in lower if not _ORIGIN.fullmatch(origin)]:
            raise ValueError(f"{wrong[0]!r} is not of the form https://host or https://host:port")
        return lower

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _check_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None and not is_secure(url):
            raise ValueError("must be an https URL (http only for this machine)")
        if url is not None and info.field_name == "jwks_url" and not info.data.get("issuer", url):
            raise ValueError("has no meaning without an issuer")
        return url

    @field_validator("console_client_id")
    @classmethod
    def _check_console_client(cls, client: str | None, info: ValidationInfo) -> str | None:
        if client is not None and not info.data.get("issuer", client):
            raise ValueError("has no meaning without an issuer")
        return client

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, bucket: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("ngsi") and info.data.get("store") == "dynamodb" and bucket is None:
            raise ValueError("is required with PENSTOCK_NGSI=true: what is taken is kept there")
        return bucket

    @field_validator("trusted_documents")
    @classmethod
    def _check_trusted(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        if (info.data.get("persisted_queries") == "trusted") != (path is not None):
            raise ValueError("goes with PENSTOCK_PERSISTED_QUERIES=trusted, and only with it")
        return path

    @field_validator("audience")
    @classmethod
    def _check_audience(cls, audience: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("issuer") and not audience:
            raise ValueError("is required with an issuer, or tokens for other services would pass")
        return audience


def _problems(error: ValidationError, options: Collection[str]) -> tuple[str, ...]:
    found = []
    for problem in error.errors(include_url=False):
        setting = str(problem["loc"][0]) if problem["loc"] else ""
        name = f"{PREFIX}{setting.upper()}"
        if setting in options:
            name = f"--{setting.replace('_', '-')}"
        message = problem["msg"].removeprefix("Value error, ")
        shown = problem["input"] is not None and not _is_secret(setting)
        got = f" (got {hide_credentials(str(problem['input']))[:60]!r})" if shown else ""
        found.append(f"{name}: {message[0].lower()}{message[1:]}{got}")
    return tuple(found)


def _is_secret(setting: str) -> bool:
    field = Settings.model_fields.get(setting)
    return field is not None and SecretStr in (field.annotation, *get_args(field.annotation))
