"""The folders that runs are written to: whether one is complete, as its `_SUCCESS` says."""

from dataclasses import dataclass

from penstock.datastore.errors import BadInput, FieldProblem, Invalid
from penstock.datastore.files import Files
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.records import SUCCESS
from penstock.datastore.no_files import NO_FILES


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of one bucket, which the server can look into; of none without its name."""

    files: Files = NO_FILES
    bucket: str | None = None

    async def is_complete(self, saved_to: str) -> bool:
        """Whether the folder holds `_SUCCESS`, which is written last.

        Raises Invalid about `savedTo` where that cannot be known.
        """
        rules.refuse([("savedTo", rules.folder_problem(saved_to))])
        bucket, path = rules.folder_parts(rules.folder(saved_to)) or ("", "")
        if self.bucket is None:
            raise _unseen("cannot be looked into: the server keeps no files")
        if bucket != self.bucket:
            raise _unseen(f"is not in the bucket of the server, {self.bucket}")
        try:
            return await self.files.stat(f"{path}{SUCCESS}") is not None
        except BadInput as odd:
            raise _unseen(f"names no folder: {odd.message}") from odd


def _unseen(message: str) -> Invalid:
    return Invalid([FieldProblem(["savedTo"], message)])


def beside(stage: str, run_id: str) -> str:
    """The folder of a run in a stage: its last part, like `run=2018-12-11-00-00-00`, under that."""
    return rules.folder(rules.folder(stage) + run_id.rstrip("/").rpartition("/")[2])
