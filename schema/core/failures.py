"""Expected failures as members of the mutations' unions."""

import strawberry
from msgspec.structs import asdict
from strawberry.types.field import StrawberryField

from penstock.datastore import errors
from penstock.datastore.errors import ErrorCode
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KINDS
from penstock.schema.core.relay import GlobalId

_NODE_TYPES = {"G": "Group", **{kind.letter: kind.title for kind in KINDS}}

strawberry.enum(ErrorCode, description="Every code that a failure or an error can carry.")


@strawberry.interface(description="A failure that changed nothing and that a client may handle.")
class UserError:
    message: str = strawberry.field(description="What went wrong, in words for a person.")
    code: ErrorCode = strawberry.field(description="What went wrong, for a program.")
    path: list[str] | None = strawberry.field(description="Where in `input`, if it is one place.")


@strawberry.type(description="There is no such thing, or the caller may not know of it.")
class NotFound(UserError):
    pass


@strawberry.type(description="The caller may see the thing and may not do this to it.")
class NotPermitted(UserError):
    pass


@strawberry.type(description="One broken rule of an input.")
class FieldProblem:
    path: list[str] = strawberry.field(description="Where in `input`.")
    message: str = strawberry.field(description="What is wrong there.")
    code: str | None = strawberry.field(
        description="Of a formula or a CSV: what is wrong, for a program."
    )
    line: int | None = strawberry.field(description="Of a formula or a CSV: the line, from 1.")
    column: int | None = strawberry.field(
        description="Of a formula or a CSV: the column, from 1; of a CSV the field's place."
    )
    excerpt: str | None = strawberry.field(
        description="Of a formula: the line in question, with a caret below the place."
    )


@strawberry.type(description="The input breaks rules; all that were found are listed.")
class ValidationProblem(UserError):
    problems: list[FieldProblem] = strawberry.field(description="Every one that was found.")


@strawberry.type(description="The name is held on the same line of groups, above or below.")
class NameTaken(UserError):
    group: GroupPath = strawberry.field(description="Where it is held.")
    holder: strawberry.ID | None = strawberry.field(description="The id of who holds it.")


@strawberry.type(description="This object of a bucket is in the caller's library already.")
class DuplicateObject(UserError):
    existing: strawberry.ID = strawberry.field(description="The id of the audio that it is.")


@strawberry.type(description="The resource moved on since the caller read it.")
class VersionConflict(UserError):
    current_version: int = strawberry.field(description="The version that a change must name.")


@strawberry.type(description="A documented limit would be passed.")
class LimitExceeded(UserError):
    limit: str = strawberry.field(description="What is limited.")
    maximum: int = strawberry.field(description="The most there may be.")
    actual: int = strawberry.field(description="How many there would be.")


@strawberry.type(description="The state of the thing does not allow this.")
class IllegalState(UserError):
    state: str = strawberry.field(description="The state that stands in the way.")


class _NotFound(strawberry.ExceptionHandler[errors.NotFound, NotFound]):
    def handle(
        self, exception: errors.NotFound, *, field: StrawberryField, info: strawberry.Info
    ) -> NotFound:
        return NotFound(message=exception.message, code=exception.code, path=exception.path)


class _NotPermitted(strawberry.ExceptionHandler[errors.NotPermitted, NotPermitted]):
    def handle(
        self, exception: errors.NotPermitted, *, field: StrawberryField, info: strawberry.Info
    ) -> NotPermitted:
        return NotPermitted(message=exception.message, code=exception.code, path=exception.path)


class _ValidationProblem(strawberry.ExceptionHandler[errors.Invalid, ValidationProblem]):
    def handle(
        self, exception: errors.Invalid, *, field: StrawberryField, info: strawberry.Info
    ) -> ValidationProblem:
        problems = [FieldProblem(**asdict(problem)) for problem in exception.problems]
        return ValidationProblem(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            problems=problems,
        )


class _NameTaken(strawberry.ExceptionHandler[errors.NameTaken, NameTaken]):
    def handle(
        self, exception: errors.NameTaken, *, field: StrawberryField, info: strawberry.Info
    ) -> NameTaken:
        holder = exception.holder and GlobalId(_NODE_TYPES[exception.kind], exception.holder).text()
        return NameTaken(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            group=GroupPath(exception.group),
            holder=strawberry.ID(holder) if holder else None,
        )


class _DuplicateObject(strawberry.ExceptionHandler[errors.ObjectTaken, DuplicateObject]):
    def handle(
        self, exception: errors.ObjectTaken, *, field: StrawberryField, info: strawberry.Info
    ) -> DuplicateObject:
        return DuplicateObject(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            existing=GlobalId("Audio", exception.existing).text(),
        )


class _VersionConflict(strawberry.ExceptionHandler[errors.VersionConflict, VersionConflict]):
    def handle(
        self, exception: errors.VersionConflict, *, field: StrawberryField, info: strawberry.Info
    ) -> VersionConflict:
        return VersionConflict(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            current_version=exception.current_version,
        )


class _LimitExceeded(strawberry.ExceptionHandler[errors.LimitExceeded, LimitExceeded]):
    def handle(
        self, exception: errors.LimitExceeded, *, field: StrawberryField, info: strawberry.Info
    ) -> LimitExceeded:
        return LimitExceeded(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            limit=exception.limit,
            maximum=exception.maximum,
            actual=exception.actual,
        )


class _IllegalState(strawberry.ExceptionHandler[errors.IllegalState, IllegalState]):
    def handle(
        self, exception: errors.IllegalState, *, field: StrawberryField, info: strawberry.Info
    ) -> IllegalState:
        return IllegalState(
            message=exception.message,
            code=exception.code,
            path=exception.path,
            state=exception.state,
        )


HANDLERS = (
    _NotFound(),
    _NotPermitted(),
    _ValidationProblem(),
    _NameTaken(),
    _DuplicateObject(),
    _VersionConflict(),
    _LimitExceeded(),
    _IllegalState(),
)
