"""What is stored, as frozen structs; on the table their fields are camelCase attributes."""

from enum import StrEnum
from typing import Any

import msgspec

from penstock.datastore.roles import GroupPath, Role


class State(StrEnum):
    """Whether a resource may be used: frozen, no new version or run; disabled, read only."""

    ENABLED = "enabled"
    FROZEN = "frozen"
    DISABLED = "disabled"


class ValueType(StrEnum):
    """The type of a parameter's or an output's value."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Struct(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The shape of all that is stored; type checkers want its options said again below."""


class Tag(Struct, frozen=True, kw_only=True):
    """A tag as its users wrote it: levels of the value are joined by `/`."""

    key: str
    value: str


class Parameter(Struct, frozen=True, kw_only=True):
    """An input column of a transformer or a calculation."""

    index: int
    key: str
    label: str | None = None
    description: str | None = None
    type: ValueType
    required: bool = False


class Output(Struct, frozen=True, kw_only=True):
    """A value that a transform or a calculation gives."""

    index: int
    key: str | None = None
    label: str | None = None
    description: str | None = None
    type: ValueType


class Transform(Struct, frozen=True, kw_only=True):
    """One formula over the parameters, and the output it fills."""

    index: int
    formula: str
    outputs: tuple[Output, ...]


class Transformer(Struct, frozen=True, kw_only=True):
    """How an input row becomes an output row."""

    parameters: tuple[Parameter, ...]
    transforms: tuple[Transform, ...]


class Resource(Struct, frozen=True, kw_only=True):
    """What every grouped, tagged, named and versioned thing has.

    `version` counts contents; `revision` counts every write, grants and revokes included, and
    never leaves the datastore. `groups` are the explicit grants, an antichain; `owner` is the
    group of creation.
    """

    id: str
    name: str
    description: str | None = None
    state: State
    tags: tuple[Tag, ...]
    groups: tuple[GroupPath, ...]
    owner: GroupPath
    version: int
    revision: int
    created_at: str
    created_by: str
    updated_at: str
    updated_by: str


class Pipeline(Resource, frozen=True, kw_only=True):
    """The latest version of a pipeline."""

    attributes: dict[str, Any] | None = None
    transformer: Transformer


class PipelineVersion(Pipeline, frozen=True, kw_only=True):
    """A pipeline as it was at one of its versions; `groups` as of that version."""


class Calculation(Resource, frozen=True, kw_only=True):
    """The latest version of a calculation; its formula gives the first output."""

    summary: str | None = None
    formula: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]


class CalculationVersion(Calculation, frozen=True, kw_only=True):
    """A calculation as it was at one of its versions; `groups` as of that version."""


class DatasetColumn(Struct, frozen=True, kw_only=True):
    """A column of a reference dataset, as the header of its file names it."""

    name: str
    description: str | None = None
    type: ValueType


class DatasetContent(Struct, frozen=True, kw_only=True):
    """What a version of a reference dataset holds: the columns of a CSV file, and its measures.

    `file` tells the file from all others of the dataset; `checksum` is the SHA-256 of its bytes in
    hex, and `row_count` counts what is below the header.
    """

    columns: tuple[DatasetColumn, ...]
    key_column: str
    file: str
    checksum: str
    size_bytes: int
    row_count: int


class ReferenceDataset(Resource, frozen=True, kw_only=True):
    """The latest version of a reference dataset."""

    content: DatasetContent


class ReferenceDatasetVersion(ReferenceDataset, frozen=True, kw_only=True):
    """A reference dataset as it was at one of its versions; `groups` as of that version."""


class Group(Struct, frozen=True, kw_only=True):
    """A group of the hierarchy, with exact counts of what lies in it."""

    path: GroupPath
    name: str
    created_at: str | None = None
    created_by: str | None = None
    children: int = 0
    grants: int = 0


class TagKey(Struct, frozen=True, kw_only=True):
    """A tag key in use, and how many resources carry it."""

    key: str
    label: str
    count: int


class TagValue(Struct, frozen=True, kw_only=True):
    """A tag value in use at one level, and how many resources carry it or a value below it."""

    key: str
    value: str
    label: str
    count: int
    deeper: int

    @property
    def has_children(self) -> bool:
        """Whether some resource's value goes on below this level."""
        return self.deeper > 0


class GroupRole(Struct, frozen=True, kw_only=True):
    """A role at a group and below it."""

    group: GroupPath
    role: Role


class ApiKey(Struct, frozen=True, kw_only=True):
    """What a user is shown of one of their keys; `roles` in the order of the groups."""

    id: str
    name: str
    roles: tuple[GroupRole, ...]
    created_at: str
    expires_at: str
