"""Everything one caller can do with executions."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.datastore.cascade import begun_unheard
from penstock.datastore.dataset_tables import DatasetTables
from penstock.datastore.executions.answers import ReadAnswers
from penstock.datastore.executions.changing import ChangeExecutions
from penstock.datastore.executions.creating import KIND, CreateExecutions
from penstock.datastore.executions.downloads import Downloads
from penstock.datastore.executions.external import ExternalWorkers
from penstock.datastore.executions.inline import InlineExecutions
from penstock.datastore.executions.listing import ListExecutions
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.rules import ExecutionRules
from penstock.datastore.executions.uploads import Uploads
from penstock.datastore.files import Files
from penstock.datastore.resources.scope import Scope
from penstock.datastore.resources.tag_lists import TagLists


@dataclass(frozen=True, slots=True)
class Executions:
    """The reads, lists and changes of executions, bound to a caller.

    Files are reached through `uploads` and `downloads`, which a store without files has not.
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
        """Bind them to a caller; `ready` is called when one of them makes something ready."""
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
