"""The settings of the NGSI sink, under the names and defaults of its documentation."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode

from penstock.datastore.dynamodb.protocol import AccessKey
from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.notification import check_path, check_service
from penstock.datastore.ngsi.options import (
    MAX_DAYS,
    Ack,
    BatchingOptions,
    Compat,
    DataModel,
    ItemLayout,
    LongNames,
    NamingOptions,
    Persistence,
    RetentionTimes,
    SinkOptions,
    ValueFormat,
    parse_lifetimes,
)


class NgsiSettings(BaseSettings):
    """The settings that accept, batch and store NGSI notifications."""

    ngsi: bool | None = Field(
        None,
        description="Whether the server accepts NGSI notifications. By default it does if it can "
        "store them: with the embedded store, or with a bucket.",
    )
    ngsi_enable_grouping: bool = Field(
        False, description="Whether grouping rules change the names of destinations."
    )
    ngsi_enable_name_mappings: bool = Field(
        False, description="Whether name mappings change the names of destinations."
    )
    ngsi_enable_lowercase: bool = Field(
        False, description="Whether the names of destinations are in lower case."
    )
    ngsi_data_model: Literal["dm-by-entity", "dm-by-service-path"] = Field(
        "dm-by-entity", description="Scope of a table: an entity, or a service path."
    )
    ngsi_attr_persistence: Literal["row", "column"] = Field(
        "row",
        description="Content of one stored item: an attribute (`row`), or a whole update "
        "(`column`).",
    )
    ngsi_access_key_id: str | None = Field(
        None,
        min_length=1,
        description="Access key of the user whose tables the destinations are. By default AWS's "
        "ordinary chain of credentials.",
    )
    ngsi_secret_access_key: SecretStr | None = Field(
        None,
        validate_default=True,
        description="Secret of the access key. The server never shows or logs it.",
    )
    ngsi_region: str = Field(
        "eu-central-1",
        pattern=r"^[a-z0-9-]{1,64}$",
        description="AWS region of the destinations, with the store `dynamodb`.",
    )
    ngsi_batch_size: int = Field(
        1,
        ge=1,
        le=1000,
        description="Events (updates of entities) that are stored together. Requests to DynamoDB "
        "have 25 items at most, whatever this says.",
    )
    ngsi_batch_timeout: float = Field(
        30, gt=0, description="Longest time from a batch's first event to its storage, in seconds."
    )
    ngsi_batch_ttl: int = Field(
        10,
        ge=-1,
        description="Number of retries for a batch that cannot be stored, before it becomes a dead "
        "letter: 0 for none, -1 for no limit.",
    )
    ngsi_batch_retry_intervals: Annotated[tuple[int, ...], NoDecode] = Field(
        (5000,),
        description="Times between the retries of a batch, in milliseconds, separated by commas. "
        "The last one repeats.",
    )
    ngsi_encoding: Literal["cygnus", "strict"] = Field(
        "cygnus",
        description="Encoding of texts in names of tables: by the documented rule (`cygnus`), or "
        "by one that can be decoded again (`strict`).",
    )
    ngsi_compat: Literal["documented", "cygnus"] = Field(
        "documented",
        description="Whether items are as documented, or as Cygnus writes them: times in seconds, "
        "milliseconds without leading zeros, values of columns in quotes.",
    )
    ngsi_value_format: Literal["text", "typed"] = Field(
        "text",
        description="Whether values are stored as texts, as documented, or as numbers, truth "
        "values, lists and maps; what DynamoDB cannot hold exactly stays a text.",
    )
    ngsi_long_names: Literal["hash", "reject"] = Field(
        "hash",
        description="What becomes of a destination whose name would have more than 255 "
        "characters: its name is cut and ends in a hash, or its updates become dead letters.",
    )
    ngsi_ack: Literal["durable", "queued"] = Field(
        "durable",
        description="Time of the answer to a notification: when it is stored durably (`durable`), "
        "or when it is in memory (`queued`).",
    )
    ngsi_default_service: str = Field(
        "default", description="The service of notifications without a `Fiware-Service`."
    )
    ngsi_default_service_path: str = Field(
        "/", description="The service path of notifications without a `Fiware-ServicePath`."
    )
    ngsi_ld_tenants: Literal["apart", "services"] = Field(
        "apart",
        description="The service of a tenant of NGSI-LD, `NGSILD-Tenant: t`: `ngsild:t`, which no "
        "`Fiware-Service` can name (`apart`), or `t` (`services`), for Orion-LD, whose tenants and "
        "services are the same.",
    )
    ngsi_max_pending: int = Field(
        10_000,
        gt=0,
        description="Events that one server process may hold before they are stored; beyond it, "
        "notifications are answered 503. A service may hold as many as are free, so one alone "
        "holds a half.",
    )
    ngsi_retry_window: int = Field(
        300,
        ge=1,
        le=86_400,
        description="Time in which a notification with the same `Fiware-Correlator`, headers and "
        "body is a retry of its sender, in seconds. It is stored once. Later, it is stored again.",
    )
    ngsi_settlement_seconds: float = Field(
        5.0,
        ge=0.0,
        le=60.0,
        description="Longest time for which stored events are still counted as pending, in "
        "seconds, because the next notification of their service path counts them for half of the "
        "price. With 0 they are counted at once.",
    )
    ngsi_keep_hours: bool = Field(
        True,
        description="Whether the sink keeps the hours of entities that send 100 events an hour or "
        "more, for the first chart of them. It reads each of their samples once. Otherwise the "
        "first reads of a long span keep them.",
    )
    ngsi_lease_seconds: int = Field(
        60,
        ge=2,
        le=3600,
        description="Time without a sign of life after which a server loses its accepted "
        "notifications, in seconds. After a crash, another server or the same one then stores "
        "them.",
    )
    ngsi_keep_segments_days: int = Field(
        7,
        ge=1,
        le=3650,
        description="Days for which the files of stored notifications are kept. Until then a run "
        "can be loaded again.",
    )
    ngsi_keep_runs_days: int = Field(
        30,
        ge=0,
        le=MAX_DAYS,
        description="Days for which the manifest `ngsi` lists stored notifications, at least as "
        "long as their files are kept; 0 is for ever.",
    )
    ngsi_keep_dead_letters_days: int = Field(
        0, ge=0, le=MAX_DAYS, description="Days for which dead letters are kept; 0 is for ever."
    )
    ngsi_keep_samples_days: str = Field(
        "0",
        description="Days for which new samples are kept, for all groups and for some: "
        "`30,/vehicles=90,/vehicles/4wheels=0`. The nearest group above a service path counts; 0 "
        "is for ever. Samples that are stored already keep their time.",
    )

    @field_validator("ngsi_batch_retry_intervals", mode="before")
    @classmethod
    def _split_intervals(cls, value: object) -> object:
        return tuple(value.split(",")) if isinstance(value, str) else value

    @field_validator("ngsi_batch_retry_intervals")
    @classmethod
    def _check_intervals(cls, intervals: tuple[int, ...]) -> tuple[int, ...]:
        if not intervals or any(interval <= 0 for interval in intervals):
            raise ValueError("must be one or more numbers of milliseconds, each above 0")
        return intervals

    @field_validator("ngsi_default_service", "ngsi_default_service_path")
    @classmethod
    def _check_default(cls, text: str, info: ValidationInfo) -> str:
        check = check_path if info.field_name == "ngsi_default_service_path" else check_service
        try:
            return check(text)
        except BadArgument as bad:
            raise ValueError(bad.message) from None

    @field_validator("ngsi_secret_access_key")
    @classmethod
    def _check_key(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if (secret is None) != (info.data.get("ngsi_access_key_id") is None):
            raise ValueError("goes with PENSTOCK_NGSI_ACCESS_KEY_ID, and only with it")
        return secret

    @field_validator("ngsi_keep_samples_days")
    @classmethod
    def _check_lifetimes(cls, text: str) -> str:
        try:
            parse_lifetimes(text)
        except BadArgument as bad:
            raise ValueError(bad.message) from None
        return text

    @property
    def ngsi_retention(self) -> RetentionTimes:
        """How long the sink keeps what it wrote."""
        return RetentionTimes(
            segments=timedelta(days=self.ngsi_keep_segments_days),
            runs=_days_or_for_ever(self.ngsi_keep_runs_days),
            letters=_days_or_for_ever(self.ngsi_keep_dead_letters_days),
        )

    @property
    def sink_options(self) -> SinkOptions:
        """The options of the sink that these settings describe."""
        return SinkOptions(
            naming=NamingOptions(
                data_model=DataModel(self.ngsi_data_model),
                enable_lowercase=self.ngsi_enable_lowercase,
                encoding=Encoding(self.ngsi_encoding),
                long_names=LongNames(self.ngsi_long_names),
            ),
            layout=ItemLayout(
                attr_persistence=Persistence(self.ngsi_attr_persistence),
                value_format=ValueFormat(self.ngsi_value_format),
                compat=Compat(self.ngsi_compat),
                lifetimes=parse_lifetimes(self.ngsi_keep_samples_days),
            ),
            batching=BatchingOptions(
                size=self.ngsi_batch_size,
                timeout=self.ngsi_batch_timeout,
                ttl=self.ngsi_batch_ttl,
                retry_intervals=tuple(each / 1000 for each in self.ngsi_batch_retry_intervals),
            ),
            enable_grouping=self.ngsi_enable_grouping,
            enable_name_mappings=self.ngsi_enable_name_mappings,
            ack=Ack(self.ngsi_ack),
            max_pending=self.ngsi_max_pending,
            retry_window=self.ngsi_retry_window,
            settlement_seconds=self.ngsi_settlement_seconds,
            keep_hours=self.ngsi_keep_hours,
        )

    @property
    def access_key(self) -> AccessKey | None:
        """The key for writing to the destinations; None for AWS's ordinary chain."""
        if self.ngsi_access_key_id is None or self.ngsi_secret_access_key is None:
            return None
        return AccessKey(self.ngsi_access_key_id, self.ngsi_secret_access_key.get_secret_value())


def _days_or_for_ever(days: int) -> timedelta | None:
    return timedelta(days=days) if days else None
