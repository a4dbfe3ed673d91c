"""The inputs of the mutations that all kinds of resources have, and the reading of their fields."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import strawberry
from strawberry import UNSET

from penstock.datastore.datasets.staged_files import Attachment
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import State
from penstock.datastore.resources.rules import MAX_DESCRIPTION, MAX_NAME
from penstock.datastore.resources.version_dates.active_from import FIELD as ACTIVE_FROM
from penstock.datastore.roles import GroupPath
from penstock.datastore.tag_search.tags import MAX_TAGS
from penstock.resolvers.context import Context
from penstock.resolvers.resources import ResourceInput
from penstock.schema.core.context import TagInput, input_records, unset_to_none
from penstock.schema.core.scalars import DateTime

_NAME = (
    f"The name, of 1 to {MAX_NAME} characters. No other resource of the kind has it "
    "in the same group, in a group above it or in a group below it."
)
_DESCRIPTION = f"The purpose of the resource, for people, of at most {MAX_DESCRIPTION} characters."
_TAGS = f"The tags by which the resource is found: at most {MAX_TAGS}, with different keys."
_ACTIVE_FROM = "The time from which on `asAt` gives the new version."

FieldReader = Callable[[Any], Any]


class ContentWithFile(Protocol):
    """The value of a field that comes with a file, its problems, and the file."""

    @property
    def content(self) -> Any: ...
    @property
    def problems(self) -> Sequence[FieldProblem]: ...
    @property
    def file(self) -> Attachment[Any] | None: ...


ContentLoader = Callable[[Context, Any], Awaitable[ContentWithFile]]


def id_field(noun: str) -> Any:
    """Make the field with the global id of a resource."""
    return strawberry.field(description=f"The global id of the {noun}.")


def idempotency_key_field(noun: str) -> Any:
    """Make the field with the key that makes a repeated create safe."""
    return strawberry.field(
        default=UNSET,
        description=(
            "A key that makes it safe to send the request again: the same key with the same "
            f"input gives the same {noun} for a day."
        ),
    )


@strawberry.input
class CreateResourceInput:
    """The common fields of inputs that create a resource; not a type of the schema itself."""

    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description=(
            "The path of the group that owns the resource. The default is the caller's "
            "default group."
        ),
    )
    name: str = strawberry.field(description=_NAME)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    active_from: DateTime | None = strawberry.field(
        default=UNSET, description=f"{_ACTIVE_FROM} The default is the time of the creation."
    )


class KeyedCreateInput(Protocol):
    """A `CreateResourceInput` with the idempotency key, which each kind adds after its own fields.

    The order of fields is part of the schema, and inherited fields come first.
    """

    group: GroupPath | None
    active_from: DateTime | None
    idempotency_key: strawberry.ID | None


@strawberry.input
class UpdateResourceInput:
    """The common fields of inputs that change a resource; not a type of the schema itself."""

    expected_version: int = strawberry.field(
        description=(
            "The number of the version on which the changes are based. If it is not the "
            "current one, nothing changes."
        )
    )
    name: str | None = strawberry.field(default=UNSET, description=_NAME)
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    state: State | None = strawberry.field(
        default=UNSET,
        description="The new state. While a resource is not enabled, only its state can change.",
    )
    active_from: DateTime | None = strawberry.field(
        default=UNSET,
        description=f"{_ACTIVE_FROM} The default is now, or that of the version before if this is "
        "still to come; null is now.",
    )
    id: strawberry.ID = id_field("resource")


@strawberry.input
class DeleteResourceInput:
    """The common fields of inputs that delete a resource; not a type of the schema itself."""

    expected_version: int | None = strawberry.field(
        default=UNSET,
        description=(
            "The number of the current version. If another number is given, nothing "
            "changes. The default is not to check."
        ),
    )
    force: bool | None = strawberry.field(
        default=False,
        description=(
            "Whether to delete it though others use it. Their formulas and inputs then name what "
            "is gone: they cannot run until they are changed."
        ),
    )
    id: strawberry.ID = id_field("resource")


@strawberry.input
class GrantResourceInput:
    """The common fields of inputs that grant access; not a type of the schema itself."""

    id: strawberry.ID = id_field("resource")
    group: GroupPath = strawberry.field(
        description="The path of the group that gains access, together with all groups below it."
    )


@strawberry.input
class RevokeResourceInput:
    """The common fields of inputs that revoke a grant; not a type of the schema itself."""

    id: strawberry.ID = id_field("resource")
    group: GroupPath = strawberry.field(
        description=(
            "The path of the group whose own grant is removed. A grant that the group "
            "inherits stays."
        )
    )


def return_unchanged(value: object) -> object:
    """Return a value unchanged, for a field that the record stores in the form of the input."""
    return value


@dataclass(frozen=True, slots=True)
class ContentReader:
    """The reading of the fields of a kind; an update may not clear the `required` ones.

    `problem` describes the problem of a field's value that the record cannot show. `file` names the
    field that comes with a file, with the function that fetches it.
    """

    own: Mapping[str, FieldReader]
    required: tuple[str, ...]
    problem: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    file: tuple[str, ContentLoader] | None = None

    async def read_new(self, context: Context, input: KeyedCreateInput) -> ResourceInput:
        """Read the fields of a new resource."""
        fields = {
            name: read(unset_to_none(getattr(input, name))) for name, read in self._readers.items()
        }
        if (start := unset_to_none(input.active_from)) is not None:
            fields[ACTIVE_FROM] = start
        return await self._read_with_file(context, input, fields)

    async def read_changes(self, context: Context, input: UpdateResourceInput) -> ResourceInput:
        """Read the fields that the input contains, except a null where a value is required."""
        read = {**self._readers, "state": return_unchanged, ACTIVE_FROM: return_unchanged}
        found = {name: getattr(input, name) for name in read}
        nulls = self._forbidden_nulls(input)
        fields = {
            name: read[name](value)
            for name, value in found.items()
            if value is not UNSET and name not in nulls
        }
        return await self._read_with_file(context, input, fields)

    async def _read_with_file(
        self,
        context: Context,
        input: KeyedCreateInput | UpdateResourceInput,
        fields: dict[str, Any],
    ) -> ResourceInput:
        problems = self._input_problems(input)
        value = unset_to_none(getattr(input, self.file[0])) if self.file is not None else None
        if self.file is None or value is None:
            return ResourceInput(fields, problems)
        name, bring = self.file
        brought = await bring(context, value)
        return ResourceInput(
            {**fields, name: brought.content}, [*problems, *brought.problems], brought.file
        )

    def _input_problems(self, input: KeyedCreateInput | UpdateResourceInput) -> list[FieldProblem]:
        """Return the problems that the fields, once read, cannot show."""
        nulls = [FieldProblem([name], "must not be null") for name in self._forbidden_nulls(input)]
        found = {
            name: tell(unset_to_none(getattr(input, name))) for name, tell in self.problem.items()
        }
        return nulls + [FieldProblem([name], message) for name, message in found.items() if message]

    def _forbidden_nulls(self, input: KeyedCreateInput | UpdateResourceInput) -> list[str]:
        names = ("name", *self.required, "state")
        return [name for name in names if getattr(input, name, UNSET) is None]

    @property
    def _readers(self) -> dict[str, FieldReader]:
        common: dict[str, FieldReader] = {
            "name": str.strip,
            "description": return_unchanged,
            "tags": input_records,
        }
        return {**common, **self.own}
