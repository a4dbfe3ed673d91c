"""One line of log for each operation, with its facts and its cost, and nothing that was sent."""

from contextlib import suppress
from typing import Literal

from penstock.server.logs import operation_logger
from penstock.server.observing import OperationEnded, Seen


class AccessLog:
    """Logs operations to standard error, beside the other lines of the same form."""

    def __init__(self, form: Literal["text", "json"]) -> None:
        self._logger = operation_logger(form)

    def operation(self, _seen: Seen) -> OperationEnded:
        """Log the operation when it has ended."""
        return self._log

    def _log(self, seen: Seen) -> None:
        units = seen.units
        rcu, wcu, calls = (units.rcu, units.wcu, units.calls) if units else (0.0, 0.0, 0)
        # A line that nobody takes, as over a broken pipe, fails no operation.
        with suppress(OSError):
            self._logger.info(
                "operation",
                request_id=seen.request_id,
                transport=seen.transport,
                type=seen.kind,
                operation=seen.name,
                document=seen.digest,
                status=seen.status,
                outcome=seen.outcome,
                codes=seen.codes,
                milliseconds=round(seen.seconds * 1_000, 2),
                cost=seen.cost,
                rcu=rcu,
                wcu=wcu,
                calls=calls,
                **({} if seen.trace_id is None else {"trace_id": seen.trace_id}),
            )
