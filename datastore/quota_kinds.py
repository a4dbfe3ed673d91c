"""The kinds of what quotas limit."""

from enum import StrEnum


class QuotaKind(StrEnum):
    """The kinds of things that quotas limit."""

    RESOURCES = "resources"
    VERSIONS = "versions"
    FILES = "files"
    BYTES = "bytes"
    OPEN_UPLOADS = "open uploads"
