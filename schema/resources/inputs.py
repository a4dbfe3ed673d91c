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
from penstock.datastore.roles import GroupPath
from penstock.datastore.tag_search.tags import MAX_TAGS
from penstock.resolvers.context import Context
from penstock.resolvers.resources import Given
from penstock.schema.core.context import TagInput, given

_NAME = (
    f"The name, of 1 to {MAX_NAME} characters. No other resource of the kind has it "
    "in the same group, in a group above it or in a group below it."
)
_DESCRIPTION = f"The purpose of the resource, for people, of at most {MAX_DESCRIPTION} characters."
_TAGS = (
    f"The tags by which the resource is found: at most {MAX_TAGS}, with different "
    "keys. About 30 can change at once, fewer if their values have levels or if "
    "several groups have access."
)

Read = Callable[[Any], Any]


class Brought(Protocol):
    """The value of a field that comes with a file, its problems, and the file."""

    @property
    def content(self) -> Any: ...
    @property
    def problems(self) -> Sequence[FieldProblem]: ...
    @property
    def file(self) -> Attachment[Any] | None: ...


Bring = Callable[[Context, Any], Awaitable[Brought]]


@strawberry.input
class Creation:
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


@strawberry.input
class Change:
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


def id_of(noun: str) -> Any:
    """Make the field with the global id of a resource."""
    return strawberry.field(description=f"The global id of the {noun}.")


def key_for(noun: str) -> Any:
    """Make the field with the key that makes a repeated create safe."""
    return strawberry.field(
        default=UNSET,
        description=(
            "A key that makes it safe to send the request again: the same key with the same "
            f"input gives the same {noun} for a day."
        ),
    )


def as_given(value: object) -> object:
    """Return a value unchanged, for a field that the record stores in the form of the input."""
    return value


def records_of(values: list[Any] | None) -> tuple[Any, ...]:
    """Return the records of a list of inputs; none if there is no list."""
    return tuple(value.record() for value in values or ())


@dataclass(frozen=True, slots=True)
class Content:
    """The reading of the fields of a kind; an update may not clear the `required` ones.

    `problem` describes the problem of a field's value that the record cannot show. `file` names the
    field that comes with a file, with the function that fetches it.
    """

    own: Mapping[str, Read]
    required: tuple[str, ...]
    problem: Mapping[str, Callable[[Any], str | None]] = field(default_factory=dict)
    file: tuple[str, Bring] | None = None

    async def of(self, context: Context, input: Creation) -> Given:
        """Read the fields of a new resource."""
        fields = {name: read(given(getattr(input, name))) for name, read in self._read.items()}
        return await self._given(context, input, fields)

    async def changed_by(self, context: Context, input: Change) -> Given:
        """Read the fields that the input contains, except a null where a value is required."""
        read = {**self._read, "state": as_given}
        found = {name: getattr(input, name) for name in read}
        nulls = self._nulls(input)
        fields = {
            name: read[name](value)
            for name, value in found.items()
            if value is not UNSET and name not in nulls
        }
        return await self._given(context, input, fields)

    async def _given(
        self, context: Context, input: Creation | Change, fields: dict[str, Any]
    ) -> Given:
        problems = self._problems(input)
        value = given(getattr(input, self.file[0])) if self.file is not None else None
        if self.file is None or value is None:
            return Given(fields, problems)
        name, bring = self.file
        brought = await bring(context, value)
        return Given(
            {**fields, name: brought.content}, [*problems, *brought.problems], brought.file
        )

    def _problems(self, input: Creation | Change) -> list[FieldProblem]:
        """Return the problems that the fields, once read, cannot show."""
        nulls = [FieldProblem([name], "must not be null") for name in self._nulls(input)]
        found = {name: tell(given(getattr(input, name))) for name, tell in self.problem.items()}
        return nulls + [FieldProblem([name], message) for name, message in found.items() if message]

    def _nulls(self, input: Creation | Change) -> list[str]:
        names = ("name", *self.required, "state")
        return [name for name in names if getattr(input, name, UNSET) is None]

    @property
    def _read(self) -> dict[str, Read]:
        common: dict[str, Read] = {
            "name": str.strip,
            "description": as_given,
            "tags": records_of,
        }
        return {**common, **self.own}
