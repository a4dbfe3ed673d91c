"""The expected failures of mutations as members of their result unions."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import strawberry
from msgspec.structs import asdict
from strawberry.types.field import StrawberryField

from penstock.datastore import errors
from penstock.datastore.access.quota_report import may_know_amounts
from penstock.datastore.errors import ErrorCode
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KINDS
from penstock.schema.core.any_resource import AnyResource
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.errors import forget_tracebacks
from penstock.schema.core.quotas import QuotaKind
from penstock.schema.core.relay import GlobalId
from penstock.schema.core.scalars import Long, bound_int

_NODE_TYPES = {"G": "Group", **{kind.letter: kind.title for kind in KINDS}}

strawberry.enum(
    ErrorCode, description="The codes of all failures and errors. New codes may be added."
)

describe_values(
    ErrorCode,
    {
        ErrorCode.ALREADY_LOADED: (
            "The manifest run was loaded before, so it is neither claimed nor skipped."
        ),
        ErrorCode.BAD_REQUEST: "The request is not a well-formed GraphQL request.",
        ErrorCode.BAD_USER_INPUT: "A value in the request is not valid.",
        ErrorCode.CONFLICT: "The resource changed since the caller read it.",
        ErrorCode.CSRF_PREVENTED: (
            "A GET request came without a header that protects against forged requests."
        ),
        ErrorCode.DUPLICATE_OBJECT: (
            "The caller's library already contains the object of the bucket."
        ),
        ErrorCode.FORBIDDEN: "The caller may see the object but may not do this to it.",
        ErrorCode.FOREIGN_TABLE: "The table of the destination belongs to another program.",
        ErrorCode.GRAPHQL_PARSE_FAILED: "The document has a syntax error.",
        ErrorCode.GRAPHQL_VALIDATION_FAILED: "The document does not match the schema.",
        ErrorCode.ILLEGAL_STATE: "The state of the object does not allow the change.",
        ErrorCode.INTERNAL_SERVER_ERROR: "An unexpected error happened in the server.",
        ErrorCode.INTROSPECTION_DISABLED: "The server does not let the caller read its schema.",
        ErrorCode.IN_USE: "Other resources use the one that is to be deleted.",
        ErrorCode.LEASE_HELD: "Another worker holds a lease of the manifest run.",
        ErrorCode.LEASE_LOST: "The worker no longer holds the lease of the manifest run.",
        ErrorCode.LIMIT_EXCEEDED: "The change would exceed a documented limit.",
        ErrorCode.METHOD_NOT_ALLOWED: "The URL does not support the HTTP method.",
        ErrorCode.NAME_TAKEN: "Another resource of the same kind has the name.",
        ErrorCode.NOT_ACCEPTABLE: "The server has no response format that the client accepts.",
        ErrorCode.NOT_FOUND: (
            "The object does not exist, or the caller may not know that it exists."
        ),
        ErrorCode.OPERATION_RESOLUTION_FAILURE: (
            "The request does not say which operation of the document to run."
        ),
        ErrorCode.OUTPUT_EXISTS: (
            "The folder of the manifest run holds a `_SUCCESS` file, so its output is complete."
        ),
        ErrorCode.OUTPUT_MISSING: (
            "The folder of the manifest run holds no `_SUCCESS` file, so its output is not "
            "complete."
        ),
        ErrorCode.PAYLOAD_TOO_LARGE: "The request is larger than the server allows.",
        ErrorCode.PERSISTED_QUERY_NOT_FOUND: "The server has no document with this id.",
        ErrorCode.PERSISTED_QUERY_NOT_SUPPORTED: (
            "The server does not support documents that are named by an id."
        ),
        ErrorCode.QUERY_TOO_COMPLEX: "The operation could read more than the server allows.",
        ErrorCode.QUERY_TOO_DEEP: "The operation nests more levels than the server allows.",
        ErrorCode.QUERY_TOO_LARGE: "The document is larger than the server allows.",
        ErrorCode.QUOTA_EXCEEDED: "A group or a user would keep more than it may.",
        ErrorCode.RATE_LIMITED: (
            "The caller sent more requests than the server allows in this time."
        ),
        ErrorCode.RETRY_LATER: "The manifest run failed, and can be claimed again only later.",
        ErrorCode.RUN_GIVEN_UP: (
            "The manifest run failed as often as its manifest allows, so no worker claims it."
        ),
        ErrorCode.RUN_SKIPPED: "The manifest run is marked, so that no worker claims it.",
        ErrorCode.SERVICE_UNAVAILABLE: (
            "The store did not answer in time; the client can try again later."
        ),
        ErrorCode.SNAPSHOT_GONE: (
            "Rows that stood at the moment in question have left since, so that it cannot be shown."
        ),
        ErrorCode.TIMEOUT: "The request took longer than the server allows.",
        ErrorCode.UNAUTHENTICATED: "The request has no valid credentials.",
        ErrorCode.UNREADABLE: (
            "The object is stored in a form that this release of the server cannot read."
        ),
        ErrorCode.UNSUPPORTED_MEDIA_TYPE: "The server does not read bodies of this media type.",
    },
)


@strawberry.interface(
    description="A failure that changed nothing and that a client can expect and handle."
)
class UserError:
    message: str = strawberry.field(description="The description of the failure, for people.")
    code: ErrorCode = strawberry.field(description="The kind of failure as a code, for programs.")
    path: list[str] | None = strawberry.field(
        description=(
            "The path of the field in `input` that caused the failure; null if no single field did."
        )
    )


@strawberry.type(
    description="The object does not exist, or the caller may not know that it exists."
)
class NotFound(UserError):
    positions: list[int] = strawberry.field(
        description=(
            "The positions, counted from 0, of the missing ids in the list of ids at `path`: at "
            "most the first 100. Empty if `path` is not a list of ids."
        )
    )


@strawberry.type(description="The caller may see the object but may not do this to it.")
class NotPermitted(UserError):
    pass


@strawberry.type(description="One rule that the input breaks.")
class FieldProblem:
    path: list[str] = strawberry.field(
        description="The path of the field in `input` that breaks the rule."
    )
    message: str = strawberry.field(description="The description of the problem, for people.")
    code: str | None = strawberry.field(
        description=(
            "The kind of problem as a code, for programs; null unless the problem lies in a "
            "formula or a CSV file."
        )
    )
    line: int | None = strawberry.field(
        description=(
            "The line of the problem in a formula or a CSV file, counted from 1; null elsewhere."
        )
    )
    column: int | None = strawberry.field(
        description=(
            "The column of the problem, counted from 1: the character in a formula, or the "
            "field in a CSV file; null elsewhere."
        )
    )
    excerpt: str | None = strawberry.field(
        description=(
            "The line of the formula, with a caret below the position of the problem; null "
            "outside of formulas."
        )
    )


@strawberry.type(description="The input breaks one or more rules, all of which are listed.")
class ValidationProblem(UserError):
    problems: list[FieldProblem] = strawberry.field(
        description="The list of all rules that the input breaks."
    )


@strawberry.type(
    description=(
        "Another object already has the name in this group, in a group above it or in a "
        "group below it."
    )
)
class NameTaken(UserError):
    group: GroupPath = strawberry.field(
        description="The path of the group in which the name is taken."
    )
    holder: strawberry.ID | None = strawberry.field(
        description=(
            "The global id of the object that has the name; null if the caller may not know it."
        )
    )


@strawberry.type(description="The caller's library already contains this object of a bucket.")
class DuplicateObject(UserError):
    existing: strawberry.ID = strawberry.field(
        description="The global id of the track in the library that has this object."
    )


@strawberry.type(description="The object has changed since the caller read it.")
class VersionConflict(UserError):
    current_version: int = strawberry.field(
        description="The number of the current version. A change must name this version."
    )


@strawberry.type(description="Other resources use the one that is to be deleted.")
class InUse(UserError):
    used_by: list[AnyResource] = strawberry.field(
        description="The first of those that the caller sees."
    )
    more: bool = strawberry.field(
        description="Whether others use it as well; the caller may not see them."
    )


@strawberry.type(description="The change would exceed a documented limit.")
class LimitExceeded(UserError):
    limit: str = strawberry.field(description="The name of the limit.")
    maximum: int = strawberry.field(
        description="The largest number that the limit allows; 2147483647 for a larger one."
    )
    actual: int = strawberry.field(
        description="The number that there would be after the change; 2147483647 for a larger one."
    )


@strawberry.type(
    description="A group, with all below it, or a user would keep more than its quota allows."
)
class QuotaExceeded(UserError):
    quota: QuotaKind = strawberry.field(description="The kind of things that the quota limits.")
    maximum: Long | None = strawberry.field(
        description="The largest amount that may be kept; null if the caller may not know it."
    )
    used: Long | None = strawberry.field(
        description="The amount that is kept now; null if the caller may not know it."
    )
    group: GroupPath | None = strawberry.field(
        description="The path of the group whose quota it is; null for the quota of a user."
    )


@strawberry.type(description="The state of the object does not allow the change.")
class IllegalState(UserError):
    state: str = strawberry.field(description="The state that does not allow the change.")


def _describe_not_found(exception: errors.NotFound, _info: strawberry.Info) -> NotFound:
    return NotFound(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        positions=list(exception.positions),
    )


def _describe_not_permitted(exception: errors.NotPermitted, _info: strawberry.Info) -> NotPermitted:
    return NotPermitted(message=exception.message, code=exception.code, path=exception.path)


def _describe_validation_problem(
    exception: errors.Invalid, _info: strawberry.Info
) -> ValidationProblem:
    problems = [FieldProblem(**asdict(problem)) for problem in exception.problems]
    return ValidationProblem(
        message=exception.message, code=exception.code, path=exception.path, problems=problems
    )


def _describe_name_taken(exception: errors.NameTaken, _info: strawberry.Info) -> NameTaken:
    holder = exception.holder and GlobalId(_NODE_TYPES[exception.kind], exception.holder).encode()
    return NameTaken(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        group=GroupPath(exception.group),
        holder=strawberry.ID(holder) if holder else None,
    )


def _describe_duplicate_object(
    exception: errors.ObjectTaken, _info: strawberry.Info
) -> DuplicateObject:
    return DuplicateObject(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        existing=GlobalId("Audio", exception.existing).encode(),
    )


def _describe_version_conflict(
    exception: errors.VersionConflict, _info: strawberry.Info
) -> VersionConflict:
    return VersionConflict(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        current_version=exception.current_version,
    )


def _describe_in_use(exception: errors.InUse, _info: strawberry.Info) -> InUse:
    return InUse(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        used_by=list(exception.users),
        more=exception.more,
    )


def _describe_limit_exceeded(
    exception: errors.LimitExceeded, _info: strawberry.Info
) -> LimitExceeded:
    return LimitExceeded(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        limit=exception.limit,
        maximum=bound_int(exception.maximum),
        actual=bound_int(exception.actual),
    )


def _describe_quota_exceeded(
    exception: errors.QuotaExceeded, info: strawberry.Info
) -> QuotaExceeded:
    known = may_know_amounts(info.context.caller, exception)
    return QuotaExceeded(
        message=exception.message if known else exception.message_without_amounts,
        code=exception.code,
        path=exception.path,
        quota=exception.kind,
        maximum=Long(exception.maximum) if known else None,
        used=Long(exception.used) if known else None,
        group=None if exception.group is None else GroupPath(exception.group),
    )


def _describe_illegal_state(exception: errors.IllegalState, _info: strawberry.Info) -> IllegalState:
    return IllegalState(
        message=exception.message,
        code=exception.code,
        path=exception.path,
        state=exception.state,
    )


Failure_contra = TypeVar("Failure_contra", bound=Exception, contravariant=True)
Described_co = TypeVar("Described_co", bound=UserError, covariant=True)


@dataclass(frozen=True, slots=True)
class FailureHandler(strawberry.ExceptionHandler[Failure_contra, Described_co]):
    """Describes an exception to the client, which then lets go of the frames that it passed."""

    exception_type: type[Exception]
    error_type: type[UserError]
    describe: Callable[[Failure_contra, strawberry.Info], Described_co]

    def handle(
        self, exception: Failure_contra, *, field: StrawberryField, info: strawberry.Info
    ) -> Described_co:
        described = self.describe(exception, info)
        forget_tracebacks(exception)
        return described


HANDLERS: Final[tuple[FailureHandler[Any, Any], ...]] = (
    FailureHandler(errors.NotFound, NotFound, _describe_not_found),
    FailureHandler(errors.NotPermitted, NotPermitted, _describe_not_permitted),
    FailureHandler(errors.Invalid, ValidationProblem, _describe_validation_problem),
    FailureHandler(errors.NameTaken, NameTaken, _describe_name_taken),
    FailureHandler(errors.ObjectTaken, DuplicateObject, _describe_duplicate_object),
    FailureHandler(errors.VersionConflict, VersionConflict, _describe_version_conflict),
    FailureHandler(errors.InUse, InUse, _describe_in_use),
    FailureHandler(errors.LimitExceeded, LimitExceeded, _describe_limit_exceeded),
    FailureHandler(errors.QuotaExceeded, QuotaExceeded, _describe_quota_exceeded),
    FailureHandler(errors.IllegalState, IllegalState, _describe_illegal_state),
)


def settle_failure(error: Exception, members: Collection[type], info: strawberry.Info) -> object:
    """Return a failure as one of the members of a union; any other error as it is.

    For lists of results: an error in a list is reported at its place, and the others stay.
    """
    for handler in HANDLERS:
        if isinstance(error, handler.exception_type) and handler.error_type in members:
            return handler.handle(error, field=info._field, info=info)  # noqa: SLF001 - has no other name
    return error
