"""The work on one execution in hand: its input through the kernel, its files published."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from datastore.clock import Clock
from datastore.dataset_tables import DatasetTables
from datastore.executions.claims import Claims, counted, ended
from datastore.executions.datasets import PinnedData
from datastore.executions.inputs import pinned_input
from datastore.executions.keys import errors_key, input_key, output_key
from datastore.executions.reading import find_plan
from datastore.executions.records import Execution, ExecutionMode, ExecutionState
from datastore.executions.results import digest_of, earlier
from datastore.executions.rules import ExecutionRules
from datastore.executions.streams import Growing
from datastore.files import Files, blocks
from datastore.table import Table
from kernel.json_rows import JsonTransform
from kernel.outcome import Counts, Ending, Written
from kernel.problems import Problem, Refused
from kernel.program import Program
from kernel.transform import CsvTransform, Transform

CHUNK: Final = 256 * 1024


@dataclass(slots=True)
class Work:
    """One execution that this process holds; `counts` tells how far it is."""

    table: Table
    files: Files
    clock: Clock
    rules: ExecutionRules
    tables: DatasetTables
    held: Execution
    counts: Counts = field(default_factory=Counts)

    async def run(self) -> None:
        """Run it to its end.

        Raises ClaimLost where it is no longer this process's, Unavailable where a store does not
        answer; whoever holds it next begins anew.
        """
        plan = await find_plan(self.table, self.held.id)
        content = await pinned_input(self.files, self.held)
        if plan is None or content is None:
            await self._fail("INPUT_GONE", "The input of the execution is gone.")
            return
        self.held = replace(self.held, bytes_total=content.size)
        digest = digest_of(self.held, plan, content)
        if done := await earlier(self.table, self.files, replace(self.held, digest=digest)):
            await self._repeat(done, digest)
            return
        try:
            data = await PinnedData(self.table, self.files, self.tables).rows(plan)
            program = await asyncio.to_thread(Program, plan, data)
        except Refused as refused:
            await self._fail(refused.problem.code, refused.problem.message)
            return
        await self._transform(self._transform_for(program), digest)

    async def _repeat(self, done: Execution, digest: str) -> None:
        """Take over what an earlier execution of the very same work has made."""
        await self.files.copy(errors_key(done), errors_key(self.held))
        await self.files.copy(output_key(done), output_key(self.held))
        self.counts = done.counts
        await self._end(ExecutionState.SUCCESS, digest=digest, message=f"As {done.id} did.")

    def _transform_for(self, program: Program) -> Transform:
        if self.held.mode is ExecutionMode.INLINE:
            return JsonTransform(program, self.held.max_failed_rows)
        return CsvTransform(program, self.held.max_failed_rows)

    async def _transform(self, transform: Transform, digest: str) -> None:
        async with self._growing() as (output, errors):

            async def store(written: Written) -> None:
                self.counts = transform.ending.counts
                await output.feed(written.output)
                await errors.feed(written.errors)

            chunks = blocks(self.files.read(input_key(self.held)), CHUNK)
            async for chunk in chunks:
                await store(await asyncio.to_thread(transform.feed, chunk))
                if transform.ending.refusal is not None:
                    break
            await store(await asyncio.to_thread(transform.finish))
            await self._publish(transform.ending, output, errors, digest)

    async def _publish(self, ending: Ending, output: Growing, errors: Growing, digest: str) -> None:
        """Put the files in place, unless another holds the execution by now, and then end it."""
        await self._claims.beat(self.held, self.counts)
        await errors.publish()
        if ending.succeeded:
            await output.publish()
            await self._end(ExecutionState.SUCCESS, digest=digest)
        else:
            problem = ending.refusal or Problem(0, "", "ALL_ROWS_FAILED", "No row could be used.")
            where = f"Row {problem.row}: " if problem.row else ""
            await self._fail(problem.code, where + problem.message)

    @asynccontextmanager
    async def _growing(self) -> AsyncIterator[tuple[Growing, Growing]]:
        output = Growing(self.files, output_key(self.held))
        errors = Growing(self.files, errors_key(self.held))
        try:
            yield output, errors
        finally:
            await output.abandon()
            await errors.abandon()

    async def _fail(self, code: str, message: str) -> None:
        await self._end(ExecutionState.FAILED, code=code, message=message)

    async def _end(
        self,
        state: ExecutionState,
        *,
        digest: str | None = None,
        code: str | None = None,
        message: str | None = None,
    ) -> None:
        over = ended(self.held, state, self.clock.now(), self.rules)
        after = replace(counted(over, self.counts), digest=digest, code=code, message=message)
        await self._claims.end(self.held, after)

    @property
    def _claims(self) -> Claims:
        return Claims(self.table, self.clock, self.rules)
