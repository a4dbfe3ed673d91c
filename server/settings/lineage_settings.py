"""The settings of the events for a catalogue of data."""

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from penstock.server.settings.secure_urls import is_secure


class LineageSettings(BaseSettings):
    """The settings that send OpenLineage events."""

    openlineage_url: str | None = Field(
        None,
        description="URL to which OpenLineage events of executions and manifest runs are posted "
        "(`https://marquez.example.org/api/v1/lineage`), or a file that gets them as lines "
        "(`file:///var/log/penstock/lineage.ndjson`). Without one there are none. They name "
        "groups, pipelines, folders and files.",
    )
    openlineage_key: SecretStr | None = Field(
        None,
        validate_default=True,
        description="Key that is sent with the events as a bearer token. The server never shows "
        "or logs it.",
    )
    openlineage_namespace: str = Field(
        "penstock",
        pattern=r"^[^/\s][^\s]{0,127}$",
        description="Namespace of the jobs in OpenLineage events, before the path of their group. "
        "Installations that send to the same catalogue need different ones.",
    )

    @field_validator("openlineage_url")
    @classmethod
    def _check_openlineage_url(cls, url: str | None) -> str | None:
        if url is not None and not _is_destination(url):
            raise ValueError("must be an http or https URL without credentials, or file:///path")
        return url

    @field_validator("openlineage_key")
    @classmethod
    def _check_openlineage_key(
        cls, key: SecretStr | None, info: ValidationInfo
    ) -> SecretStr | None:
        if key is None:
            return None
        # A URL that is refused has a problem of its own already.
        url = info.data.get("openlineage_url", "https://refused")
        if url is None or not is_secure(url):
            raise ValueError("goes with an https URL (http only for this machine)")
        return key


def _is_destination(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if parts.scheme == "file":
        return not parts.netloc and parts.path.startswith("/") and not parts.path.endswith("/")
    named = parts.scheme in ("http", "https") and parts.hostname and parts.username is None
    return bool(named) and not parts.fragment
