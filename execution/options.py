"""How one schema's operations are run, whatever they are."""

from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

from graphql import (
    ExecutionResult,
    Executor,
    GraphQLFieldResolver,
    GraphQLLeafType,
    GraphQLSchema,
    GraphQLTypeResolver,
)
from graphql.execution import default_field_resolver, default_type_resolver
from graphql.pyutils import is_awaitable

from penstock.execution.fields import Lists
from penstock.execution.leaves import Coerce

Outcome: TypeAlias = ExecutionResult | Awaitable[ExecutionResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The schema and what `graphql.execute` takes beside it.

    `most_fields` bounds a plan, whose selections on abstract types are written out for each
    possible type; `most_plans` bounds the plans of one operation, of which there is one for each
    set of values of the variables in `@skip` and `@include`. An operation is compiled when it has
    run `interpreted_runs` times. `lists` may put what only it knows in place of lists of plain
    objects, for those who know it too. `coercions` are remembered by type.
    """

    schema: GraphQLSchema
    field_resolver: GraphQLFieldResolver = default_field_resolver
    type_resolver: GraphQLTypeResolver = default_type_resolver
    is_awaitable: Callable[[Any], TypeGuard[Awaitable[Any]]] = is_awaitable
    is_async_iterable: Callable[[Any], TypeGuard[AsyncIterable[Any]]] | None = None
    executor_class: type[Executor[Any]] | None = None
    max_coercion_errors: int = 50
    hide_suggestions: bool = False
    most_fields: int = 1_000
    most_plans: int = 8
    interpreted_runs: int = 0
    lists: Lists | None = None
    coercions: dict[GraphQLLeafType, Coerce] = field(default_factory=dict, compare=False)
