"""The repository of executions: everything that one caller can do with them."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.datastore.access.scope import Scope
from penstock.datastore.datasets.table_cache import DatasetTables
from penstock.datastore.executions.cancel_and_retry import ChangeExecutions
from penstock.datastore.executions.create import KIND, CreateExecutions
from penstock.datastore.executions.external_workers import ExternalWorkers
from penstock.datastore.executions.files import Downloads
from penstock.datastore.executions.inline import InlineExecutions, ReadAnswers
from penstock.datastore.executions.listing import ListExecutions
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.uploads import Uploads
from penstock.datastore.jobs.delete_group import begun_unheard
from penstock.datastore.objects.port import Files
from penstock.datastore.resources.tags_in_use import TagLists


@dataclass(frozen=True, slots=True)
class Executions:
    """The reads, lists and changes of executions for one caller.

    `uploads` and `downloads` need a store with files.
    """

    reading: ReadExecutions
    listing: ListExecutions
    creating: CreateExecutions
    inline: InlineExecutions
    changing: ChangeExecutions
    uploads: Uploads
    downloads: Downloads
    answers: ReadAnswers
    external: ExternalWorkers
    tags: TagLists

    @classmethod
    def of(
        cls,
        scope: Scope,
        rules: ExecutionRules,
        files: Files,
        tables: DatasetTables,
        ready: Callable[[], None] = begun_unheard,
    ) -> "Executions":
        """Make the repository of a caller; `ready` is called when an execution becomes ready."""
        return cls(
            ReadExecutions(scope),
            ListExecutions(scope),
            CreateExecutions(scope, rules, files),
            InlineExecutions(scope, rules, files, tables),
            ChangeExecutions(scope, rules, ready),
            Uploads(scope, rules, files, ready),
            Downloads(scope, rules, files),
            ReadAnswers(scope.table, files),
            ExternalWorkers(scope, rules, files),
            TagLists(KIND, scope),
        )
