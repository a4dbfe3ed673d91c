"""What resolvers are told of their field, put together when they ask for it."""

from typing import TYPE_CHECKING, Any

from graphql import GraphQLResolveInfo
from strawberry import Info

from penstock.execution.fields import Field, Place
from penstock.execution.reading import Direct

if TYPE_CHECKING:
    from penstock.execution.run import Run


class FieldInfo(Info[Any, Any]):
    """Strawberry's info; most resolvers want nothing of it but the context."""

    def __init__(self, run: "Run", field: Field, place: Place) -> None:
        self.planned = field
        self._run = run
        self._place = place

    @property
    def _raw_info(self) -> "GraphQLResolveInfo[Any]":  # type: ignore[override]
        return self._run.info(self.planned, self._place)

    @property
    def _field(self) -> Any:  # type: ignore[override]
        reading = self.planned.reading
        return reading.field if isinstance(reading, Direct) else None

    @property
    def context(self) -> Any:
        return self._run.context

    @property
    def root_value(self) -> Any:
        return self._run.root


class TypeInfo:
    """graphql-core's info for functions that tell types, few of which look at it."""

    __slots__ = ("_field", "_info", "_place", "_run")

    def __init__(self, run: "Run", field: Field, place: Place) -> None:
        self._run = run
        self._field = field
        self._place = place
        self._info: GraphQLResolveInfo[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._info is None:
            self._info = self._run.info(self._field, self._place)
        return getattr(self._info, name)
