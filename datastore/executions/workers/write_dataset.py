"""The output of an execution as the next version of a reference dataset.

The version and the success of the execution are one transaction. So whatever happens to the worker,
there are both or none, and no version twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.csv import dataset_problems
from penstock.datastore.datasets.files import CheckedContent, draft_content
from penstock.datastore.datasets.large_files import ContentStream
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    NotFound,
    QuotaExceeded,
)
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.chunks import require_size
from penstock.datastore.objects.port import Files, StoredFile
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.records import DatasetColumn, DatasetContent, ReferenceDataset, ValueType
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.scratch_folders import scratch_folder
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.table.port import Table
from penstock.transform.plan import DatasetSink, TransformPlan
from penstock.transform.problems import InputRefused


@dataclass(frozen=True, slots=True)
class DatasetOutput:
    """Writes datasets for the creators of executions, within what they and groups may keep."""

    table: Table
    files: Files
    clock: Clock
    quotas: Quotas
    shards: int
    limits: CsvLimits

    async def write(
        self,
        execution: Execution,
        plan: TransformPlan,
        sink: DatasetSink,
        output: StoredFile,
        end: Callable[[ReferenceDataset], Sequence[Write]],
    ) -> None:
        """Make the output the next version, together with the writes that end the execution.

        Raises InputRefused for an output that is no dataset, or if the dataset takes none.
        """
        access = self._access_of(execution, sink)
        with scratch_folder("output") as folder:
            brought = await self._read_output(
                access, execution.created_by, _content_of(plan, sink), output, folder
            )
            await self._write_version(access, sink.id, brought, end)

    async def _write_version(
        self,
        access: Access,
        id: str,
        brought: CheckedContent,
        end: Callable[[ReferenceDataset], Sequence[Write]],
    ) -> None:
        if brought.problems:
            raise _refusal(brought.problems)
        writing = ResourceWriter(REFERENCE_DATASET, access).with_attachment(brought.file)
        try:
            await writing.replace_content(id, {"content": brought.content}, end)
        except NotFound:
            raise InputRefused(
                FailureCode.DATASET_GONE, "The reference dataset was deleted."
            ) from None
        except Invalid as invalid:
            raise _refusal(invalid.problems) from None
        except IllegalState as refused:
            raise InputRefused(refused.code, _state_words(refused)) from None
        except QuotaExceeded as exceeded:
            raise InputRefused(exceeded.code, _quota_words(exceeded)) from None

    async def _read_output(
        self,
        access: Access,
        user: str,
        content: DatasetContent,
        output: StoredFile,
        folder: Path,
    ) -> CheckedContent:
        """Check the output; one that is too large for the memory gets an index.

        The user owes the time of the index, also where it is made in vain.
        """
        if dataset_problems(content):  # The check of the whole dataset reports these.
            return CheckedContent(content, [], None)
        stream = ContentStream(access, folder, self.limits, _follow_nothing)
        debts = WorkDebts(self.table, self.clock)
        async with debts.charge_while(user, lambda: stream.seconds):
            made = require_size(self.files.read(output.key), output.size)
            return await stream.check(content, made)

    def _access_of(self, execution: Execution, sink: DatasetSink) -> Access:
        """The creator's access to the dataset, as it was when the execution was started."""
        owner = GroupPath(sink.owner)
        caller = Caller(execution.created_by, {owner: Role.CONTRIBUTOR})
        return Access(
            table=self.table,
            caller=caller,
            clock=self.clock,
            budget=Budget(),
            files=self.files,
            quotas=self.quotas,
            shards=self.shards,
        )


def _content_of(plan: TransformPlan, sink: DatasetSink) -> DatasetContent:
    columns = [
        DatasetColumn(name=step.name, type=ValueType(step.type.value)) for step in plan.steps
    ]
    return draft_content(columns, sink.key)


async def _follow_nothing(_read_bytes: int) -> None:
    """Let the work go on: the heartbeats of the execution tell whether it may."""


def _state_words(refused: IllegalState) -> str:
    """Words for all who see the execution, of whom some do not see the group of the dataset."""
    return f"The reference dataset or its group is {refused.state.lower()}: it takes no version."


def _quota_words(exceeded: QuotaExceeded) -> str:
    """Words for all who see the execution, as `_state_words`; amounts are for fewer still."""
    holder = "the creator" if exceeded.group is None else "the group of the dataset, or one above,"
    return f"{exceeded.kind.value}: {holder} has no room left."


def _refusal(problems: Sequence[FieldProblem]) -> InputRefused:
    first = problems[0]
    return InputRefused(
        first.code or "BAD_USER_INPUT", f"The output is no dataset: {first.message}"
    )
