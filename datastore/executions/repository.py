"""The repository of executions: everything that one caller can do with them."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.executions.attempts import ExecutionAttempt, read_attempts
from penstock.datastore.executions.cancel_and_retry import ChangeExecutions
from penstock.datastore.executions.claims.queue import queue_position
from penstock.datastore.executions.create import KIND, CreateExecutions
from penstock.datastore.executions.dry_run import DryRuns
from penstock.datastore.executions.explanations.explain_row import ExplainRows
from penstock.datastore.executions.files import ExecutionDownloads
from penstock.datastore.executions.lists.group_listing import ListGroupExecutions
from penstock.datastore.executions.lists.listing import ListExecutions
from penstock.datastore.executions.lists.state_counts import CountExecutions
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import Execution, ExecutionRules
from penstock.datastore.executions.uploads import Uploads
from penstock.datastore.executions.workers.external import ExternalWorkers
from penstock.datastore.executions.workers.inline import InlineExecutions, ReadInlineOutput
from penstock.datastore.jobs.delete_group import notify_nobody
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.resources.tags_in_use import TagLists


@dataclass(frozen=True, slots=True)
class Executions:
    """The reads, lists and changes of executions for one caller.

    `uploads` and `downloads` need a store with files.
    """

    reading: ReadExecutions
    listing: ListExecutions
    of_groups: ListGroupExecutions
    counting: CountExecutions
    creating: CreateExecutions
    inline: InlineExecutions
    dry_runs: DryRuns
    explaining: ExplainRows
    changing: ChangeExecutions
    uploads: Uploads
    downloads: ExecutionDownloads
    inline_output: ReadInlineOutput
    external: ExternalWorkers
    tags: TagLists
    access: Access

    async def attempts(self, execution: Execution) -> list[ExecutionAttempt]:
        """Read the latest attempts at an execution in hand, newest first."""
        return await read_attempts(self.reading, execution)

    async def queue_position(self, execution: Execution) -> int | None:
        """Count what became ready before an execution in hand; None if it does not wait."""
        return await queue_position(self.access.table, execution)

    @classmethod
    def of(
        cls,
        access: Access,
        rules: ExecutionRules,
        tables: DatasetTableCache,
        part_files: PartFiles,
        on_ready: Callable[[], None] = notify_nobody,
    ) -> "Executions":
        """Make the repository of a caller; `on_ready` is called when an execution becomes ready."""
        files = access.files
        output = ReadInlineOutput(access, files)
        return cls(
            ReadExecutions(access),
            ListExecutions(access),
            ListGroupExecutions(access),
            CountExecutions(access),
            CreateExecutions(access, rules, files),
            InlineExecutions(access, rules, files, tables, output, part_files),
            DryRuns(access, rules, files, tables),
            ExplainRows(access, files, tables),
            ChangeExecutions(access, rules, on_ready),
            Uploads(access, rules, files, on_ready),
            ExecutionDownloads(access, rules, files),
            output,
            ExternalWorkers(access, rules, files),
            TagLists(KIND, access),
            access,
        )
