"""A GraphQL executor that compiles each operation to Python functions.

An *odd* value is one that generated code does not complete, because its type is not one that the
field's type expects. graphql-core completes it or the object that has it, and writes the error if
there is one.

The package depends on graphql-core and Strawberry and not on the rest of Penstock. Only the module
`msgspec_lists`, which servers use, also needs msgspec and orjson.
"""

from penstock.graphql_jit.answer_meter import AnswerMeter, MeteredExecutor, answer_meter
from penstock.graphql_jit.executor import CompiledOperation, no_pause
from penstock.graphql_jit.field_source import batch_resolver
from penstock.graphql_jit.plan import ExecutionOptions, FallbackReason, PlanRoom
from penstock.graphql_jit.projection import projected_attributes, reads_attributes

__all__ = [
    "AnswerMeter",
    "CompiledOperation",
    "ExecutionOptions",
    "FallbackReason",
    "MeteredExecutor",
    "PlanRoom",
    "answer_meter",
    "batch_resolver",
    "no_pause",
    "projected_attributes",
    "reads_attributes",
]
