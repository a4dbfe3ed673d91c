"""The records of the datastore, as frozen structs; items have their fields in camelCase."""

from enum import StrEnum
from typing import Any

import msgspec

from penstock.datastore.roles import GroupPath, Role


class State(StrEnum):
    """The state of a resource.

    A frozen resource takes no new versions and no new executions; a disabled one can only be read.
    """

    ENABLED = "enabled"
    FROZEN = "frozen"
    DISABLED = "disabled"


class ValueType(StrEnum):
    """The type of a parameter's or an output's value."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class StoredRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base class of every stored record.

    Subclasses repeat the options, because type checkers do not inherit them.
    """


class Tag(StoredRecord, frozen=True, kw_only=True):
    """A tag as its users wrote it; the levels of the value are joined by `/`."""

    key: str
    value: str


class Parameter(StoredRecord, frozen=True, kw_only=True):
    """An input column of a transformer or a calculation."""

    index: int
    key: str
    label: str | None = None
    description: str | None = None
    type: ValueType
    required: bool = False


class Output(StoredRecord, frozen=True, kw_only=True):
    """A value that a transform or a calculation computes."""

    index: int
    key: str | None = None
    label: str | None = None
    description: str | None = None
    type: ValueType


class Transform(StoredRecord, frozen=True, kw_only=True):
    """One formula over the parameters, and the output it fills."""

    index: int
    formula: str
    outputs: tuple[Output, ...]


class RowKeeping(StoredRecord, frozen=True, kw_only=True):
    """The outputs that identify the rows that a pipeline keeps: their key, time and group.

    Rows leave so many `keep_days` after the commit that made them; without, they stay for ever.
    """

    key: tuple[str, ...]
    time: str | None = None
    group: str | None = None
    keep_days: int | None = None


class DatasetTarget(StoredRecord, frozen=True, kw_only=True):
    """The reference dataset that a pipeline writes: its id, and the outputs that are its keys."""

    id: str
    key: tuple[str, ...]


class ExtraColumns(StrEnum):
    """The treatment of the columns of an input that no parameter names."""

    REFUSE = "refuse"
    IGNORE = "ignore"


class TimestampForm(StrEnum):
    """The form that timestamps have in outputs."""

    ISO_8601 = "iso_8601"
    EPOCH_MILLISECONDS = "epoch_milliseconds"


class Transformer(StoredRecord, frozen=True, kw_only=True):
    """The parameters of a pipeline, and the transforms that make an output row of an input row.

    A pipeline with `rows` keeps its output rows; without, they are in files only. One with a
    `dataset` writes the next version of that with each execution. Those of earlier releases name
    no form of `timestamps`.
    """

    parameters: tuple[Parameter, ...]
    transforms: tuple[Transform, ...]
    rows: RowKeeping | None = None
    dataset: DatasetTarget | None = None
    extra_columns: ExtraColumns = ExtraColumns.REFUSE
    timestamps: TimestampForm = TimestampForm.EPOCH_MILLISECONDS

    @property
    def has_timestamps(self) -> bool:
        """Whether an output is a timestamp."""
        outputs = (output for one in self.transforms for output in one.outputs)
        return any(one.type is ValueType.TIMESTAMP for one in outputs)


class Reference(StoredRecord, frozen=True, kw_only=True):
    """A name in the formulas of a resource, and the id that it stood for when they were saved.

    `kind` is the letter of the named kind, `name` is in comparison form, and `group` is the group
    that the call names, if it names one. The dataset that a pipeline writes has no name: no formula
    names it.
    """

    kind: str
    name: str
    group: str | None = None
    id: str


class VersionDate(StoredRecord, frozen=True, kw_only=True):
    """A version that is active from another time on than that of its creation."""

    start: str
    version: int


class VersionLabel(StoredRecord, frozen=True, kw_only=True):
    """A name that a user gave to a version of a resource."""

    label: str
    version: int
    set_at: str
    set_by: str


class Resource(StoredRecord, frozen=True, kw_only=True):
    """The fields that every kind of resource has.

    `version` counts the changes of content. `revision` counts every write, also grants and revokes,
    and never leaves the datastore. `groups` are the explicit grants, of which none covers another;
    `owner` is the group in which the resource was created. `references` are the resources that its
    formulas name; versions saved by earlier releases have none. `shard` is the shard in which all
    counters count it, 0 for a resource of an earlier release; it never leaves the datastore.
    `stepped` says that the latest write was too large for one transaction: rows behind it may still
    be on their way. `counted_versions` are the versions by which quotas count it, 0 for a resource
    that an earlier release wrote last. `named` says that rows find it by the words of its name, and
    `linked` that rows list it under what it uses; an earlier release wrote none.
    A version is active from its creation on, unless `active_from` names another time; then
    `undated` is the latest version before it that names none, 0 if there is none. `dates` are those
    of all versions, and `labels` those of all versions; only the latest row has both.
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
    references: tuple[Reference, ...] = ()
    shard: int = 0
    stepped: bool = False
    counted_versions: int = 0
    active_from: str | None = None
    undated: int = 0
    dates: tuple[VersionDate, ...] = ()
    labels: tuple[VersionLabel, ...] = ()
    named: bool = False
    linked: bool = False


class Footprint(StoredRecord, frozen=True, kw_only=True):
    """The part of a resource from which its postings and counts follow; its id is in the key.

    The name is there only if rows find the resource by its words. `uses` are the texts of the keys
    of what lists the resource as its user.
    """

    id: str = ""
    name: str = ""
    owner: GroupPath
    groups: tuple[GroupPath, ...]
    tags: tuple[Tag, ...]
    shard: int = 0
    named: bool = False
    uses: tuple[str, ...] = ()


class Pipeline(Resource, frozen=True, kw_only=True):
    """The latest version of a pipeline."""

    attributes: dict[str, Any] | None = None
    transformer: Transformer


class PipelineVersion(Pipeline, frozen=True, kw_only=True):
    """A pipeline as it was at one of its versions; `groups` as of that version."""


class Calculation(Resource, frozen=True, kw_only=True):
    """The latest version of a calculation; its formula computes the first output."""

    summary: str | None = None
    formula: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[Output, ...]


class CalculationVersion(Calculation, frozen=True, kw_only=True):
    """A calculation as it was at one of its versions; `groups` as of that version."""


class DatasetColumn(StoredRecord, frozen=True, kw_only=True):
    """A column of a reference dataset, as the header of its file names it."""

    name: str
    description: str | None = None
    type: ValueType


class DatasetContent(StoredRecord, frozen=True, kw_only=True):
    """The content of a version of a reference dataset: the columns and sizes of a CSV file.

    The values of the `keys` together are unique; `key_column` is the first of them, and
    `key_columns` are all if they are several. `file` identifies the file among all files of the
    dataset. `checksum` is the SHA-256 of its bytes in hex; `row_count` counts the rows below the
    header. A file with too many rows for the memory has an index beside it, of `index_bytes` and
    with the SHA-256 `index_checksum`.
    """

    columns: tuple[DatasetColumn, ...]
    key_column: str
    key_columns: tuple[str, ...] = ()
    file: str
    checksum: str
    size_bytes: int
    row_count: int
    index_bytes: int = 0
    index_checksum: str = ""

    @property
    def is_indexed(self) -> bool:
        """Whether its rows are looked up in an index."""
        return self.index_bytes > 0

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file and of its index."""
        return self.size_bytes + self.index_bytes

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose values together are the key of a row."""
        return self.key_columns or (self.key_column,)


class ReferenceDataset(Resource, frozen=True, kw_only=True):
    """The latest version of a reference dataset.

    `counted_files` and `counted_bytes` are the files of all its versions, by which quotas count it.
    """

    content: DatasetContent
    counted_files: int = 0
    counted_bytes: int = 0


class ReferenceDatasetVersion(ReferenceDataset, frozen=True, kw_only=True):
    """A reference dataset as it was at one of its versions; `groups` as of that version."""


class MeasureFunction(StrEnum):
    """A function of numbers, which leaves out null."""

    SUM = "sum"
    COUNT = "count"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


class MetricSource(StoredRecord, frozen=True, kw_only=True):
    """One input of a metric: an output of a pipeline that keeps rows, or another metric.

    `kind` is the letter of the kind of the source. `id` is what the name `source` stood for when
    the metric was saved; an input of a user has only one of the two yet.
    """

    kind: str
    source: str = ""
    output: str | None = None
    id: str = ""


class Metric(Resource, frozen=True, kw_only=True):
    """The latest version of a metric: a function over the values of its inputs."""

    unit: str | None = None
    function: MeasureFunction
    inputs: tuple[MetricSource, ...]


class MetricVersion(Metric, frozen=True, kw_only=True):
    """A metric as it was at one of its versions; `groups` as of that version."""


class GroupState(StrEnum):
    """The state of a group; in a disabled one, and below it, nothing is made or started."""

    ENABLED = "enabled"
    DISABLED = "disabled"


class Group(StoredRecord, frozen=True, kw_only=True):
    """A group of the hierarchy."""

    path: GroupPath
    name: str
    description: str | None = None
    tags: tuple[Tag, ...] = ()
    state: GroupState = GroupState.ENABLED
    created_at: str | None = None
    created_by: str | None = None


class GroupCounts(StoredRecord, frozen=True, kw_only=True):
    """Exact counts of the child groups of a group and of its grants, manifests among them."""

    children: int = 0
    grants: int = 0


class TagKey(StoredRecord, frozen=True, kw_only=True):
    """A tag key in use, and the number of resources that have it.

    The number is None where a search for them ended early.
    """

    key: str
    label: str
    count: int | None


class TagValue(StoredRecord, frozen=True, kw_only=True):
    """A tag value in use at one level.

    `count` is the number of resources that have the value or one below it; `deeper` counts those
    that have one below it.
    """

    key: str
    value: str
    label: str
    count: int | None
    deeper: int

    @property
    def has_children(self) -> bool:
        """Whether some resource has a value below this level."""
        return self.deeper > 0


class GroupRole(StoredRecord, frozen=True, kw_only=True):
    """A role at a group and below it."""

    group: GroupPath
    role: Role


class PlayerPassword(StoredRecord, frozen=True, kw_only=True):
    """A password of a music player as its user sees it, without its text."""

    id: str
    name: str
    created_at: str


class ApiKey(StoredRecord, frozen=True, kw_only=True):
    """An API key as its user sees it, without the secret; `roles` are sorted by group."""

    id: str
    name: str
    roles: tuple[GroupRole, ...]
    created_at: str
    expires_at: str
