"""The state of one execution: the answer so far, and the values that it waits for.

Generated code calls its methods, some of which leave a value to graphql-core.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from itertools import count, repeat
from typing import Any, NamedTuple, Protocol, TypeAlias

from graphql import ExecutionResult, Executor, GraphQLError, GraphQLResolveInfo, located_error
from graphql.execution import default_field_resolver
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.executor import CollectedErrors
from graphql.execution.values import VariableValues

from penstock.graphql_jit.answer_meter import MeteredExecutor, answer_meter
from penstock.graphql_jit.null_propagation import nearest_nullable, put_value
from penstock.graphql_jit.plan import (
    ExecutionOptions,
    Field,
    OperationInfo,
    Place,
    Selection,
    keys_of,
    real_path,
)

WaitingEntry: TypeAlias = tuple[Any, Place, Any]
"""A waiting value: an object of the answer, its place, and the awaitable or the source object."""

PlanStep: TypeAlias = Callable[[Any, "OperationState"], dict[str, Any]]
"""Generated code that answers a root object."""


class RaisedError(Exception):
    """An exception in the place of a value."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class PendingValue(NamedTuple):
    """A value that graphql-core completes asynchronously, and its place in the answer.

    Without a field it is the whole answer.
    """

    field: Field | None
    place: Place
    awaitable: Awaitable[Any]


def entries_of(
    answers: Sequence[Any], place: Place, sources: Sequence[Any], others: Collection[int]
) -> Iterable[WaitingEntry]:
    """Return the entries of the list at a place; the answers belong to the sources one by one.

    The indices in `others` get no entry.
    """
    places = zip(repeat(place), count(), repeat(None))
    entries = zip(answers, places, sources, strict=False)
    return (entry for entry in entries if entry[1][1] not in others) if others else entries


class PlaceErrors(CollectedErrors):
    """graphql-core's list of errors, which also accepts places that are plain tuples."""

    def has_nulled_position(self, start_path: Any) -> bool:
        place = start_path
        while place is not None:
            if place in self._error_positions:
                return True
            place = place[0]
        return None in self._error_positions


class Releasable(Protocol):
    """Futures that are released when their places in the answer have become null."""

    def release_dead(self) -> None:
        """Stop waiting for values whose places have become null."""


class OperationState:
    """The state of one execution; `data` is the answer so far.

    `groups_awaited` is not 0 while several groups are awaited, and `gather_groups` holds these
    groups. `odd_values` counts the values that generated code left to graphql-core.
    `cached_arguments` are shared by all objects of a field; those in `arguments_passed` have
    exactly the field's `parameters`. `meter` counts the values of lists.
    """

    __slots__ = (
        "_core",
        "_operation",
        "_options",
        "arguments_passed",
        "cached_arguments",
        "context",
        "data",
        "gather_groups",
        "groups_awaited",
        "meter",
        "odd_values",
        "pending_values",
        "root",
        "variables",
        "waiting",
    )

    def __init__(
        self,
        options: ExecutionOptions,
        operation: OperationInfo,
        variables: VariableValues,
        context: object,
        root: object,
    ) -> None:
        self._options = options
        self._operation = operation
        self._core: Executor[Any] | None = None
        self.cached_arguments: dict[Field, dict[str, Any]] = {}
        self.arguments_passed: dict[Field, dict[str, Any]] = {}
        self.variables = variables
        self.context = context
        self.root = root
        self.meter = answer_meter.get()
        self.data: dict[str, Any] | None = None
        self.waiting: dict[Field, list[WaitingEntry]] = {}
        self.pending_values: list[PendingValue] = []
        self.gather_groups: set[Releasable] = set()
        self.groups_awaited = 0
        self.odd_values = 0

    @property
    def core(self) -> "Executor[Any]":
        """graphql-core's executor of the same operation, created when it is first needed."""
        if self._core is None:
            options, fragments = self._options, dict(self._operation.fragments)
            self._core = MeteredExecutor(
                options.schema,
                fragments,
                {name: FragmentDetails(node) for name, node in fragments.items()},
                self.root,
                self.context,
                self._operation.operation,
                self.variables,
                options.field_resolver,
                options.type_resolver,
                default_field_resolver,
                is_awaitable=options.is_awaitable,
                is_async_iterable=options.is_async_iterable,
                hide_suggestions=options.hide_suggestions,
            )
            self._core.collected_errors = PlaceErrors()
        return self._core

    def is_awaitable(self, value: object) -> bool:
        return self._options.is_awaitable(value)

    @property
    def hide_suggestions(self) -> bool:
        return self._options.hide_suggestions

    @property
    def has_failed(self) -> bool:
        """Whether an error has been recorded."""
        return self._core is not None and bool(self._core.collected_errors.errors)

    def is_dead(self, place: Place) -> bool:
        """Return whether a place is at or below one that an error has made null."""
        return self.has_failed and self.core.collected_errors.has_nulled_position(place)  # type: ignore[arg-type]

    def begin_step(self, step: PlanStep) -> bool:
        """Run a step until it has to wait; return False where it leaves no answer."""
        try:
            self.data = step(self.root, self)
        except GraphQLError as error:
            self.core.collected_errors.add(error, None)
            self.data = None
            return False
        return True

    def result(self, data: dict[str, Any] | None) -> ExecutionResult:
        errors = self._core.collected_errors.errors if self._core is not None else None
        return ExecutionResult(data, errors or None)

    def waiting_entries(self, field: Field) -> list[WaitingEntry]:
        """Return the list of a field's waiting entries."""
        found = self.waiting.get(field)
        if found is None:
            found = self.waiting[field] = []
        return found

    def info(self, field: Field, place: Place) -> "GraphQLResolveInfo[Any]":
        """Return graphql-core's info for the resolver of a field at a place."""
        path: Any = real_path(place)
        return self.core.build_resolve_info(field.definition, field.nodes, field.parent, path)

    def record_failure(self, field: Field, depth: int, error: Exception, place: Place) -> None:
        """Record the error of a field, or of an item `depth` lists deep; raise if not nullable."""
        path: Any = real_path(place)
        self.core.handle_field_error(error, field.item_type(depth), field.details, path)

    def take_waiting(self) -> tuple[dict[Field, list[WaitingEntry]], list[PendingValue]]:
        """Return the entries added since the last call, in the order of their first appearance."""
        found = self.waiting, self.pending_values
        self.waiting, self.pending_values = {}, []
        return found

    def record_late_error(self, field: Field | None, error: Exception, place: Place) -> None:
        """Record an error after its object was answered, and make the nullable place above null."""
        nodes = None if field is None else field.nodes
        null = nearest_nullable(field, place)
        errors = self.core.collected_errors
        if errors.has_nulled_position(null):  # type: ignore[arg-type]
            return
        located = error if field is None else located_error(error, nodes, keys_of(place))
        errors.add(located, null)  # type: ignore[arg-type]
        self.put(null, None)
        for watched in tuple(self.gather_groups):
            watched.release_dead()

    def put(self, place: Place, value: Any) -> None:
        """Store a value at a place of the answer; None as the place is the whole answer."""
        if place is None:
            self.data = value
        else:
            put_value(self.data, place, value)

    def complete_value(self, field: Field, value: Any, place: Place) -> Any:
        """Complete a field's value of any kind, by graphql-core."""
        self.odd_values += 1
        path: Any = real_path(place)
        info = self.info(field, place)
        core, kind = self.core, field.definition.type
        if core.is_awaitable(value):
            awaited = core.complete_awaitable_value(kind, field.details, info, path, value, None)
            return self._defer(field, place, awaited)
        completed = core.complete_value(kind, field.details, info, path, value, None)
        return self._complete_or_defer(field, place, completed)

    def complete_item(self, field: Field, depth: int, item: Any, place: Place) -> Any:
        """Complete an item of a field's list, of any kind, by graphql-core."""
        self.odd_values += 1
        path: Any = real_path(place)
        info = self.info(field, _field_place(place))
        core, kind = self.core, field.item_type(depth)
        if core.is_awaitable(item):
            awaited = core.complete_awaitable_list_item_value(
                item, kind, field.details, info, path, None
            )
            return self._defer(field, place, awaited)
        completed: list[Any] = []
        core.complete_list_item_value(item, completed, kind, field.details, info, path, None)
        return self._complete_or_defer(field, place, completed[0])

    def complete_object(self, field: Field, selection: Selection, value: Any, place: Place) -> Any:
        """Complete an object whose type is known, by graphql-core."""
        self.odd_values += 1
        path: Any = real_path(place)
        info = self.info(field, _field_place(place))
        completed = self.core.complete_object_value(
            selection.type, field.details, info, path, value, None
        )
        return self._complete_or_defer(field, place, completed)

    def complete_root(self, selection: Selection, value: Any) -> Any:
        """Complete the operation's root object by graphql-core."""
        self.odd_values += 1
        completed = self.core.execute_fields(selection.type, value, None, selection.grouped, None)
        return self._complete_or_defer(None, None, completed)

    def _complete_or_defer(self, field: Field | None, place: Place, completed: Any) -> Any:
        if self.core.is_awaitable(completed):
            return self._defer(field, place, completed)
        return completed

    def _defer(self, field: Field | None, place: Place, awaitable: Awaitable[Any]) -> None:
        """Leave a place empty until its value has been awaited."""
        self.pending_values.append(PendingValue(field, place, awaitable))


def _field_place(place: Place) -> Place:
    """Return the place of the field that a list item belongs to, or of the field itself."""
    while place is not None and isinstance(place[1], int):
        place = place[0]
    return place
