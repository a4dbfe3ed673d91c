"""What all types share: the request's info, page arguments and tags."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, TypeAlias, TypeVar

import strawberry

from datastore import records
from datastore.access import Caller
from datastore.store import Store
from resolvers.context import Context
from resolvers.loaders import Loaders
from schema.cursors import Cursors

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RequestContext(Context):
    """The resolvers' context and what only the schema needs."""

    cursors: Cursors

    @classmethod
    def open(cls, store: Store, caller: Caller, cursors: Cursors) -> "RequestContext":
        """Make the context of one request; loaders need the request's event loop."""
        view = store.seen_by(caller)
        return cls(view, Loaders.over(view), cursors)


Info: TypeAlias = strawberry.Info[RequestContext, None]

First = Annotated[
    int | None, strawberry.argument(description="How many from the start, 1 to 100; 20 if absent.")
]
After = Annotated[
    str | None, strawberry.argument(description="The cursor to start behind; goes with `first`.")
]
Last = Annotated[int | None, strawberry.argument(description="How many from the end, 1 to 100.")]
Before = Annotated[
    str | None, strawberry.argument(description="The cursor to end before; goes with `last`.")
]

strawberry.enum(
    records.State,
    description="Whether a resource may be used. Where not, only its state can change.",
)
strawberry.enum(records.ValueType, description="The type of a value in a row.")


@strawberry.enum(description="The order of a list by time of creation.")
class Order(Enum):
    NEWEST_FIRST = "NEWEST_FIRST"
    OLDEST_FIRST = "OLDEST_FIRST"


@strawberry.type(description="A tag; the levels of a hierarchical value are joined by `/`.")
class Tag:
    key: str
    value: str


@strawberry.input(description="A tag; the levels of a hierarchical value are joined by `/`.")
class TagInput:
    key: str
    value: str

    def record(self) -> records.Tag:
        return records.Tag(key=self.key, value=self.value)


def given(value: T | None) -> T | None:
    """An optional argument's value: None also where it was left out."""
    return None if value is strawberry.UNSET else value
