"""Every way a call can fail, as one tree.

PenstockError
├── ExpectedFailure         the caller's code branches on these; they change nothing
│   ├── NotFound            absent, or not visible to the caller: the two are indistinguishable
│   │   └── Unreadable      there, but this release cannot read it
│   ├── NotPermitted        visible, but the caller's role does not allow it
│   ├── Invalid             the input breaks rules; all of them are reported at once
│   ├── NameTaken           another resource holds the name on the same line of groups
│   ├── ObjectTaken         the object of a bucket is in the caller's library already
│   ├── InUse               other resources use the one that is to be deleted
│   ├── VersionConflict     somebody wrote the resource since the caller read it
│   ├── LimitExceeded       a documented limit would be passed
│   ├── SnapshotGone        rows that a past moment had have left since
│   ├── QuotaExceeded       a group or a user would keep more than it may
│   └── IllegalState        the resource's state does not allow the change; of a run:
│       ├── AlreadyLoaded   the run was loaded, which only a reload undoes
│       ├── RunSkipped      nobody may work on the run
│       ├── RetryLater      the run failed, and is to be tried again only later
│       ├── RunGivenUp      the run failed as often as it may be tried
│       ├── LeaseHeld       another worker holds the lease of the run
│       ├── LeaseLost       the caller no longer holds the lease of the run
│       ├── OutputMissing   the output folder of the run has no `_SUCCESS`
│       └── OutputExists    the output folder of the run has a `_SUCCESS`
├── ForeignTable            the destination's table belongs to another program
├── BadArgument             an argument cannot be used: a forged cursor, `first: 0`
├── NotAuthenticated        the request does not prove who the caller is
└── TryAgain                the same call may succeed a little later
    ├── RateLimited         the caller used up the allowance for now
    └── Unavailable         the store did not answer in time, in spite of retries

Some errors stand beside the tree, because they are not answers to a call of the store:

RequestRefused    AWS refuses a request until the operator repairs why; it goes to the log (here)
InputRefused      the input of an execution cannot be processed; the execution fails with its code
RequestRejected   the GraphQL server does not run an operation; the HTTP server answers with it
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, ClassVar, Final

import msgspec

from penstock.datastore.quota_kinds import QuotaKind


class ErrorCode(StrEnum):
    """The closed list of codes that a client can receive; each has a page under docs/errors/."""

    ALREADY_LOADED = "ALREADY_LOADED"
    BAD_REQUEST = "BAD_REQUEST"
    BAD_USER_INPUT = "BAD_USER_INPUT"
    CONFLICT = "CONFLICT"
    CSRF_PREVENTED = "CSRF_PREVENTED"
    DUPLICATE_OBJECT = "DUPLICATE_OBJECT"
    FORBIDDEN = "FORBIDDEN"
    FOREIGN_TABLE = "FOREIGN_TABLE"
    GRAPHQL_PARSE_FAILED = "GRAPHQL_PARSE_FAILED"
    GRAPHQL_VALIDATION_FAILED = "GRAPHQL_VALIDATION_FAILED"
    ILLEGAL_STATE = "ILLEGAL_STATE"
    INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"
    INTROSPECTION_DISABLED = "INTROSPECTION_DISABLED"
    IN_USE = "IN_USE"
    LEASE_HELD = "LEASE_HELD"
    LEASE_LOST = "LEASE_LOST"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED"
    NAME_TAKEN = "NAME_TAKEN"
    NOT_ACCEPTABLE = "NOT_ACCEPTABLE"
    NOT_FOUND = "NOT_FOUND"
    OPERATION_RESOLUTION_FAILURE = "OPERATION_RESOLUTION_FAILURE"
    OUTPUT_EXISTS = "OUTPUT_EXISTS"
    OUTPUT_MISSING = "OUTPUT_MISSING"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    PERSISTED_QUERY_NOT_FOUND = "PERSISTED_QUERY_NOT_FOUND"
    PERSISTED_QUERY_NOT_SUPPORTED = "PERSISTED_QUERY_NOT_SUPPORTED"
    QUERY_TOO_COMPLEX = "QUERY_TOO_COMPLEX"
    QUERY_TOO_DEEP = "QUERY_TOO_DEEP"
    QUERY_TOO_LARGE = "QUERY_TOO_LARGE"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    RATE_LIMITED = "RATE_LIMITED"
    RETRY_LATER = "RETRY_LATER"
    RUN_GIVEN_UP = "RUN_GIVEN_UP"
    RUN_SKIPPED = "RUN_SKIPPED"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    SNAPSHOT_GONE = "SNAPSHOT_GONE"
    TIMEOUT = "TIMEOUT"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    UNREADABLE = "UNREADABLE"
    UNSUPPORTED_MEDIA_TYPE = "UNSUPPORTED_MEDIA_TYPE"


RETRYABLE: Final = frozenset(
    {
        ErrorCode.LEASE_HELD,
        ErrorCode.RATE_LIMITED,
        ErrorCode.RETRY_LATER,
        ErrorCode.SERVICE_UNAVAILABLE,
        ErrorCode.TIMEOUT,
    }
)
"""The codes of what passes by itself: the same request, unchanged, may succeed later."""


class PenstockError(Exception):
    """A failure whose message is meant for the client."""

    code: ClassVar[ErrorCode]

    def __init__(self, message: str, path: Sequence[str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.path = list(path) if path is not None else None

    @property
    def extensions(self) -> dict[str, object]:
        return {"code": self.code.value}


class ExpectedFailure(PenstockError):
    """An expected failure of a call, which changed nothing."""


@contextmanager
def blame_field(field: str) -> Iterator[None]:
    """Set the path of a NotFound or NameTaken that is raised in the block to this input field."""
    try:
        yield
    except (NotFound, NameTaken) as failure:
        failure.path = [field]
        raise


MAX_POSITIONS: Final = 100
_SHOWN_POSITIONS: Final = 10


class NotFound(ExpectedFailure):
    """The thing does not exist, or the caller may not know of it.

    `positions`, from 0, are those of the missing ids in a list of ids: the first MAX_POSITIONS.
    """

    code = ErrorCode.NOT_FOUND

    def __init__(
        self, message: str, path: Sequence[str] | None = None, positions: Sequence[int] = ()
    ) -> None:
        super().__init__(message, path)
        self.positions = tuple(positions[:MAX_POSITIONS])

    @property
    def extensions(self) -> dict[str, object]:
        more = {"positions": list(self.positions)} if self.positions else {}
        return {**super().extensions, **more}

    @classmethod
    def in_list(cls, noun: str, field: str, positions: Sequence[int]) -> "NotFound":
        """The failure of a list of ids, of which those at the positions lead to nothing."""
        shown = ", ".join(map(str, positions[:_SHOWN_POSITIONS]))
        more = len(positions) - _SHOWN_POSITIONS
        rest = f" and {more} more" if more > 0 else ""
        message = f"There is no {noun} with the id at these positions, from 0: {shown}{rest}."
        return cls(message, (field,), positions)


class Unreadable(NotFound):
    """The stored record is damaged, or has a form that this release does not know.

    Lists leave it out, as they do what is gone by now.
    """

    code = ErrorCode.UNREADABLE

    def __init__(self) -> None:
        super().__init__(
            "It is stored in a form that this server cannot read; its log names the row."
        )


class NotPermitted(ExpectedFailure):
    """The caller sees the thing, but the caller's role does not allow the call."""

    code = ErrorCode.FORBIDDEN


class FieldProblem(msgspec.Struct, frozen=True):
    """One broken rule of an input: the path of the field, and a message.

    Problems of a formula or a CSV also have a code, and a line and column from 1. In a CSV file,
    line and column are those of the field. Problems of a formula have as `excerpt` the line with a
    caret below the place.
    """

    path: list[str]
    message: str
    code: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None


class Invalid(ExpectedFailure):
    """The input breaks rules; `problems` lists every broken rule."""

    code = ErrorCode.BAD_USER_INPUT

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        super().__init__(
            "; ".join(f"{'.'.join(p.path)}: {p.message}" for p in problems),
            problems[0].path if len(problems) == 1 else None,
        )
        self.problems = list(problems)


class NameTaken(ExpectedFailure):
    """Another resource of the kind holds the name on the same line of groups.

    `group` is the group that holds the name and `holder` the id of the resource there. Without a
    holder, a group below `group` holds it. `kind` is the letter of both resources' kind.
    """

    code = ErrorCode.NAME_TAKEN

    def __init__(self, kind: str, name: str, group: str, holder: str | None) -> None:
        where = f"in {group}" if holder else f"in a group below {group}"
        super().__init__(f"The name {name!r} is taken {where}.", ("name",))
        self.kind = kind
        self.name = name
        self.group = group
        self.holder = holder


class ObjectTaken(ExpectedFailure):
    """The caller's library already has the object of a bucket; `existing` is the audio's id."""

    code = ErrorCode.DUPLICATE_OBJECT

    def __init__(self, existing: str) -> None:
        super().__init__("This object is in the library already.", ("objectKey",))
        self.existing = existing


class VersionConflict(ExpectedFailure):
    """The resource is at `current_version`, not at the version that the caller named."""

    code = ErrorCode.CONFLICT

    def __init__(self, current_version: int) -> None:
        super().__init__(f"The current version is {current_version}.", ("expectedVersion",))
        self.current_version = current_version


class InUse(ExpectedFailure):
    """Other resources use the one that is to be deleted.

    `users` are the first of those that the caller sees; `more` says that there are others, seen or
    not.
    """

    code = ErrorCode.IN_USE

    def __init__(self, message: str, users: Sequence[Any], more: bool) -> None:
        super().__init__(message, ("id",))
        self.users = tuple(users)
        self.more = more


class LimitExceeded(ExpectedFailure):
    """The value `actual` is more than the `maximum` of the named limit."""

    code = ErrorCode.LIMIT_EXCEEDED

    def __init__(
        self, limit: str, maximum: int, actual: int, path: Sequence[str] | None = None
    ) -> None:
        super().__init__(f"{limit}: {actual} is more than the maximum of {maximum}.", path)
        self.limit = limit
        self.maximum = maximum
        self.actual = actual


class QuotaExceeded(ExpectedFailure):
    """A group, with all below it, or a user would keep more than the maximum of a kind.

    `used` is what it keeps now. The quota is that of the `group`, or else that of the `user`.
    """

    code = ErrorCode.QUOTA_EXCEEDED

    def __init__(
        self,
        kind: QuotaKind,
        maximum: int,
        used: int,
        group: str | None = None,
        user: str | None = None,
    ) -> None:
        super().__init__(f"{kind.value}: {_holder(group)} has {used} of at most {maximum}.")
        self.kind = kind
        self.maximum = maximum
        self.used = used
        self.group = group
        self.user = user

    @property
    def message_without_amounts(self) -> str:
        """The message for callers who may not know what the group or the user keeps."""
        return f"{self.kind.value}: {_holder(self.group)} has no room left."


def _holder(group: str | None) -> str:
    return "the user" if group is None else f"the group {group} with all below it"


class SnapshotGone(ExpectedFailure):
    """Rows that stood at the moment in question have left since."""

    code = ErrorCode.SNAPSHOT_GONE

    def __init__(self) -> None:
        super().__init__("Rows that stood then have left since, as the pipeline keeps none longer.")


class IllegalState(ExpectedFailure):
    """The resource's `state` does not allow the change."""

    code = ErrorCode.ILLEGAL_STATE

    def __init__(self, message: str, state: str) -> None:
        super().__init__(message)
        self.state = state

    @property
    def extensions(self) -> dict[str, object]:
        return {**super().extensions, "state": self.state}


class ObjectRefused(IllegalState):
    """A user's bucket did not give out one object; it may give out others."""


class AlreadyLoaded(IllegalState):
    """The run was loaded; only a reload undoes that."""

    code = ErrorCode.ALREADY_LOADED


class RunSkipped(IllegalState):
    """The run is marked as skipped, so nobody may work on it."""

    code = ErrorCode.RUN_SKIPPED


class RetryLater(IllegalState):
    """The run failed, and its manifest lets workers try it again only later."""

    code = ErrorCode.RETRY_LATER


class RunGivenUp(IllegalState):
    """The run failed as often as its manifest lets workers try it."""

    code = ErrorCode.RUN_GIVEN_UP


class LeaseHeld(IllegalState):
    """Another worker holds the lease of the run, and it has not expired."""

    code = ErrorCode.LEASE_HELD


class LeaseLost(IllegalState):
    """The fence is not that of the run's latest claim: another worker claimed the run since."""

    code = ErrorCode.LEASE_LOST


class OutputMissing(IllegalState):
    """The output folder of the run holds no `_SUCCESS`."""

    code = ErrorCode.OUTPUT_MISSING


class OutputExists(IllegalState):
    """The output folder of the run holds a `_SUCCESS`."""

    code = ErrorCode.OUTPUT_EXISTS


class BadArgument(PenstockError):
    """The argument cannot be used."""

    code = ErrorCode.BAD_USER_INPUT


class ForeignTable(PenstockError):
    """The table has keys of another program: what is written to it could not be read."""

    code = ErrorCode.FOREIGN_TABLE


class InvalidCursor(BadArgument):
    """The cursor is forged, or its position does not exist in this list."""

    def __init__(self) -> None:
        super().__init__("Invalid cursor.")


class NotAuthenticated(PenstockError):
    """The request has no credentials, or credentials that are not valid."""

    code = ErrorCode.UNAUTHENTICATED


class TryAgain(PenstockError):
    """The same call may succeed after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    @property
    def extensions(self) -> dict[str, object]:
        return {**super().extensions, "retryAfter": self.retry_after}


class RateLimited(TryAgain):
    """The caller used up the allowance for now."""

    code = ErrorCode.RATE_LIMITED

    def __init__(self, retry_after: int, reason: str = "You used up your rate limit") -> None:
        super().__init__(f"{reason}; try again in {retry_after} s.", retry_after)


class Unavailable(TryAgain):
    """The store did not answer within the deadline, or cannot be used for now."""

    code = ErrorCode.SERVICE_UNAVAILABLE

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message, retry_after)


class RequestRefused(Exception):
    """AWS refuses the request at every attempt: a bug here or a wrong set-up.

    `code` and `message` are those of AWS's answer; they go to the log, not to clients.
    """

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"{operation} was refused with {code}: {message}")
        self.code = code
        self.message = message

    @property
    def is_fault(self) -> bool:
        """Whether no request of such a form is accepted, whatever the operator does."""
        return self.code in _FAULTS

    @property
    def retry_after(self) -> int | None:
        """The seconds after which a client may try again; None where that cannot help."""
        return None if self.is_fault else _REFUSAL_SECONDS


_REFUSAL_SECONDS: Final = 10
_FAULTS: Final = frozenset(
    (
        "IdempotentParameterMismatchException",
        "InvalidArgument",
        "InvalidRequest",
        "MalformedXML",
        "SerializationException",
        "ValidationException",
    )
)
