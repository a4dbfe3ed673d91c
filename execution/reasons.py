"""Why an operation, or a part of it, is not run compiled."""

from enum import StrEnum


class Reason(StrEnum):
    """Each is told of by a row of docs/compiled-execution.md."""

    CONDITIONS = "conditions"
    DEFER = "defer"
    DEPTH = "depth"
    ERROR = "error"
    ERROR_PROPAGATION = "error_propagation"
    FIRST_RUN = "first_run"
    FRAGMENT_VARIABLES = "fragment_variables"
    INTROSPECTION = "introspection"
    NO_ROOT_TYPE = "no_root_type"
    ODD_VALUE = "odd_value"
    SIZE = "size"
    STREAM = "stream"
