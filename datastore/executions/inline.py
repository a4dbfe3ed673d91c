"""Executions of few rows, which come with the request and are run while it waits."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

import msgspec

from penstock.datastore.dataset_tables import DatasetTables
from penstock.datastore.errors import FieldProblem, LimitExceeded
from penstock.datastore.executions.claims import Claims
from penstock.datastore.executions.creating import CreateExecutions, Wanted
from penstock.datastore.executions.keys import input_key
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.executions.rules import ExecutionRules
from penstock.datastore.executions.running import Runner
from penstock.datastore.files import Files
from penstock.datastore.resources.scope import Scope

JSON: Final = "application/json"
MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InlineExecutions:
    """Executions whose rows are at hand, in the caller's scope."""

    scope: Scope
    rules: ExecutionRules
    files: Files
    tables: DatasetTables

    async def run(
        self,
        wanted: Wanted,
        rows: Sequence[Mapping[str, Any]],
        idempotency_key: str | None = None,
        noted: Sequence[FieldProblem] = (),
    ) -> Execution:
        """Create an execution, keep its rows as its input and run it; the execution at its end.

        Where this process is stopped, another one finishes. The same idempotency key with the same
        rows gives the execution that the first call made, as it is then.
        """
        if len(rows) > self.rules.inline_rows:
            raise LimitExceeded("rows of a request", self.rules.inline_rows, len(rows), ("rows",))
        data = msgspec.json.encode(rows)
        if len(data) > MAX_BYTES:
            raise LimitExceeded("bytes of the rows of a request", MAX_BYTES, len(data), ("rows",))
        wanted = replace(wanted, mode=ExecutionMode.INLINE, rows=sha256(data).hexdigest())
        creating = CreateExecutions(self.scope, self.rules, self.files)
        execution = await creating.create(wanted, idempotency_key, noted)
        if execution.ready_at is None and not execution.state.is_over:
            await self._begin(execution, data)
        return (await ReadExecutions(self.scope).one(execution.id, consistent=True)).execution

    async def _begin(self, execution: Execution, data: bytes) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield data

        await self.files.write(input_key(execution), chunks(), content_type=JSON)
        table, clock, worker = self.scope.table, self.scope.clock, self.scope.clock.new_id()
        held = await Claims(table, clock, self.rules).take_inline(execution, worker, len(data))
        if held is not None:
            runner = Runner(table, self.files, clock, self.rules, worker, self.tables)
            await runner.run(held)
