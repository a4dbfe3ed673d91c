"""The settings of quotas: how much groups and users may keep."""

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from penstock.datastore.errors import BadArgument
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.rules import QuotaRules, parse_maxima

_SYNTAX = (
    "0 for no limit. The root has none. Some groups may have their own: "
    "`1000,/lab=50,/=5000`; the smallest on the way to the root decides."
)


class QuotaSettings(BaseSettings):
    """The maxima of groups, each with all groups below it, and of users."""

    quota_resources_of_group: str = Field(
        "1000000",
        description="Most pipelines, calculations and reference datasets, together, of a group "
        f"with all groups below it; {_SYNTAX}",
    )
    quota_versions_of_group: str = Field(
        "10000000",
        description="Most versions of these resources of a group with all groups below it; "
        f"{_SYNTAX}",
    )
    quota_files_of_group: str = Field(
        "1000000",
        description="Most files of reference datasets, those of all versions, and of executions, "
        f"of a group with all groups below it; {_SYNTAX}",
    )
    quota_bytes_of_group: str = Field(
        str(10 * 2**40),
        description="Most bytes of these files of a group with all groups below it; " + _SYNTAX,
    )
    quota_resources_of_user: int = Field(
        1_000_000,
        ge=0,
        description="Most pipelines, calculations and reference datasets, together, that one user "
        "made and that exist; 0 for no limit.",
    )
    quota_versions_of_user: int = Field(
        10_000_000,
        ge=0,
        description="Most versions of the resources that one user made, whoever wrote the version; "
        "0 for no limit.",
    )
    quota_files_of_user: int = Field(
        1_000_000,
        ge=0,
        description="Most files of the reference datasets that one user made and of the executions "
        "that the user began, and tracks of the user's audio library; 0 for no limit.",
    )
    quota_bytes_of_user: int = Field(
        10 * 2**40, ge=0, description="Most bytes of these files of one user; 0 for no limit."
    )

    @field_validator(
        "quota_resources_of_group",
        "quota_versions_of_group",
        "quota_files_of_group",
        "quota_bytes_of_group",
    )
    @classmethod
    def _check_maxima(cls, text: str) -> str:
        try:
            parse_maxima(text)
        except BadArgument as bad:
            raise ValueError(bad.message) from None
        return text

    @property
    def quota_rules(self) -> QuotaRules:
        """How much groups and users may keep."""
        of_groups = {
            QuotaKind.RESOURCES: self.quota_resources_of_group,
            QuotaKind.VERSIONS: self.quota_versions_of_group,
            QuotaKind.FILES: self.quota_files_of_group,
            QuotaKind.BYTES: self.quota_bytes_of_group,
        }
        per_user = Amounts(
            self.quota_resources_of_user,
            self.quota_versions_of_user,
            self.quota_files_of_user,
            self.quota_bytes_of_user,
        )
        return QuotaRules.parse(of_groups, per_user)
