"""The enums of executions: states, modes and formats of output files."""

import strawberry

from penstock.datastore.executions.records import ExecutionMode, ExecutionState, OutputFormat
from penstock.schema.core.descriptions import describe_values

__all__ = ["ExecutionMode", "ExecutionState", "OutputFormat"]

strawberry.enum(ExecutionState, description="The state of an execution.")
describe_values(
    ExecutionState,
    {
        ExecutionState.WAITING: "The execution waits for its input or for a worker.",
        ExecutionState.IN_PROGRESS: "A worker is running the execution.",
        ExecutionState.SUCCESS: (
            "The execution has ended and its output is available; some rows may have failed."
        ),
        ExecutionState.FAILED: (
            "The execution has ended without an output, and its code names the reason."
        ),
        ExecutionState.CANCELLED: "A user has cancelled the execution.",
    },
)
strawberry.enum(ExecutionMode, description="The way in which an execution receives its input.")
describe_values(
    ExecutionMode,
    {
        ExecutionMode.JOB: (
            "The input is a file that is uploaded, and workers run the execution in the background."
        ),
        ExecutionMode.INLINE: (
            "The input rows are part of the request, and the execution runs at once."
        ),
    },
)
strawberry.enum(OutputFormat, description="The format of an output file.")
describe_values(
    OutputFormat,
    {
        OutputFormat.CSV: "The output is CSV in UTF-8.",
        OutputFormat.PARQUET: ("The output is Parquet: numbers are decimals, times are in UTC."),
    },
)
