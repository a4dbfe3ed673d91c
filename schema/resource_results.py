"""The results of the mutations that all kinds of resources have, named after each kind."""

from functools import reduce
from operator import or_
from typing import Annotated, Any, NamedTuple

import strawberry

from datastore.layout import Kind
from schema.failures import (
    IllegalState,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
    VersionConflict,
)

_CHANGED = strawberry.field(description="False where the group saw it before.")


class Verb(NamedTuple):
    """A mutation of a kind: its words, with the kind's noun to be put in, and how it may fail."""

    name: str
    payload: str
    result: str
    failures: tuple[Any, ...]


CREATE = Verb(
    "Create",
    "A {} was created, or found by its idempotency key.",
    "The new {}, or why there is none.",
    (NotFound, NotPermitted, ValidationProblem, NameTaken, LimitExceeded),
)
UPDATE = Verb(
    "Update",
    "A new version was made.",
    "The new version, or why nothing changed.",
    (
        NotFound,
        NotPermitted,
        ValidationProblem,
        NameTaken,
        VersionConflict,
        LimitExceeded,
        IllegalState,
    ),
)
DELETE = Verb(
    "Delete",
    "A {0} was deleted; `{1}` is what it was.",
    "The {} that was, or why it still is.",
    (NotFound, NotPermitted, VersionConflict),
)
GRANT = Verb(
    "Grant",
    "The group and those below it see the {}.",
    "The {} with the grant, or why nothing changed.",
    (NotFound, NotPermitted, NameTaken, LimitExceeded),
)
REVOKE = Verb(
    "Revoke",
    "The group's grant is gone.",
    "The {} without the grant, or why nothing changed.",
    (NotFound, NotPermitted, LimitExceeded, IllegalState),
)


def payload_of(verb: Verb, kind: Kind[Any], type: Any) -> Any:
    """Make the type of success, which carries the resource under its noun."""
    fields = {kind.field: strawberry.field(graphql_type=type)}
    annotations: dict[str, Any] = {kind.field: kind.record}
    if verb is GRANT:
        fields["changed"], annotations["changed"] = _CHANGED, bool
    name = f"{verb.name}{kind.title}Payload"
    made = make_class(name, annotations, fields)
    return strawberry.type(made, description=verb.payload.format(kind.noun, kind.camel))


def result_of(verb: Verb, kind: Kind[Any], payload: Any) -> Any:
    """Make the union of success and the ways to fail."""
    members = reduce(or_, verb.failures, payload)
    description = verb.result.format(kind.noun)
    return Annotated[
        members, strawberry.union(f"{verb.name}{kind.title}Result", description=description)
    ]


def make_class(name: str, annotations: dict[str, Any], fields: dict[str, Any]) -> Any:
    """Make the class that strawberry dresses as a type or an input."""
    return type(name, (), {"__annotations__": annotations, "__module__": __name__, **fields})
