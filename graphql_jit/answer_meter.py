"""The size of an answer while it is completed: lists are counted before their items are.

Whoever runs an operation sets a meter; without one nothing is limited.
"""

from collections.abc import Sized
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final
from weakref import proxy

from graphql import Executor
from graphql.type.definition import GraphQLResolveInfoHelpers

INTERPRETED_VALUES: Final = 4
"""A value that graphql-core completes counts as so many, as it takes longer."""


class AnswerTooLarge(Exception):
    """The answer would hold more values or bytes than its meter allows."""


@dataclass(slots=True)
class AnswerMeter:
    """Counts the values in an answer's lists; `written_bytes` are those of lists that are JSON.

    `most` and `most_bytes` limit them. `bound` is what the answer's bytes cannot exceed, infinite
    where that is not known. Generated code does what `add` does without the call.
    """

    most: float = inf
    values: int = 0
    most_bytes: float = inf
    written_bytes: int = 0
    bound: float = 0

    def add(self, values: int) -> None:
        """Count values that graphql-core completes; raises AnswerTooLarge for too many."""
        self.values += values
        self.bound = inf
        if self.values > self.most:
            raise AnswerTooLarge


_UNLIMITED: Final = AnswerMeter()

answer_meter: Final = ContextVar("answer_meter", default=_UNLIMITED)
"""The meter of the operation that runs."""


class MeteredExecutor(Executor[Any]):
    """graphql-core's executor, which counts the items of lists and the fields of objects.

    Its helpers do not hold it: else its variables would stay until a collection.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        executor: Any = proxy(self)
        self.async_helpers = GraphQLResolveInfoHelpers(
            gather=partial(type(self).gather_async_work, executor),
            track=partial(type(self).track_async_work, executor),
        )

    def complete_list_value(self, *values: Any) -> Any:
        result = values[4]
        if isinstance(result, Sized):
            answer_meter.get().add(len(result) * INTERPRETED_VALUES)
        return super().complete_list_value(*values)

    def execute_fields(self, *values: Any) -> Any:
        answer_meter.get().add(len(values[3]) * INTERPRETED_VALUES)
        return super().execute_fields(*values)
