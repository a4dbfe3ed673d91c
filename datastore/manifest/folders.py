"""The folders of the server's bucket, compared with the runs of a manifest.

The bucket belongs to no group, and its folders tell of all of them: only an administrator of the
root may look into it.
"""

from collections.abc import AsyncIterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.errors import FieldProblem, Invalid, NotFound
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.insert import insert_runs
from penstock.datastore.manifest.lists import RunListFilter, RunLists
from penstock.datastore.manifest.records import Action, ManifestName, Run, RunName
from penstock.datastore.manifest.rows import key_bytes
from penstock.datastore.manifest.runs import Discovery, Runs
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.table.limits import INDEX_RANGE_BYTES
from penstock.datastore.table.pages import walk_pages

FOLDERS: Final = 500
"""The folders of one page."""

_RUNS = 100


class FolderPage(NamedTuple):
    """Some folders in their order: all of them, and those that have no run.

    The `reached` one is the last if more follow. Those that cannot be runs have a reason.
    """

    folders: tuple[str, ...]
    without_run: tuple[str, ...]
    invalid: tuple[tuple[str, str], ...]
    reached: str | None


@dataclass(frozen=True, slots=True)
class RunFolders:
    """The folders right below a path, each of which is the folder of one run."""

    runs: Runs

    def root_of(self, path: str) -> str:
        """The path with a slash at its end, and without the bucket; raises Invalid."""
        bucket, inside = rules.folder_parts(path) or (None, path)
        known = self.runs.folders.bucket
        if known is None:
            raise _path_error("cannot be looked into: the server keeps no files")
        if bucket not in (None, known):
            raise _path_error(f"is not in the bucket of the server, {known}")
        if inside.startswith("/") or "//" in inside:
            raise _path_error("has an empty part")
        return inside if not inside or inside.endswith("/") else f"{inside}/"

    async def page(
        self, manifest: ManifestName, root: str, after: str = "", size: int = FOLDERS
    ) -> FolderPage:
        """Compare folders below a root with runs: one list of the bucket, then batches of runs."""
        self._require_admin()
        found = await self.runs.folders.files.list_folders(root, after, size)
        problems = {folder: self._problem(manifest, folder) for folder in found}
        names = [RunName(manifest, folder) for folder in found if problems[folder] is None]
        runs = await self.runs.many(names)
        absent = tuple(
            name.run_id for name, run in zip(names, runs, strict=True) if isinstance(run, NotFound)
        )
        invalid = tuple((folder, problem) for folder, problem in problems.items() if problem)
        return FolderPage(found, absent, invalid, found[-1] if len(found) == size else None)

    async def register(
        self, manifest: ManifestName, folders: Sequence[str], like: Discovery
    ) -> int:
        """Add runs for folders, all like one but for their ids; return how many were not there."""
        self._require_admin()
        found = [self.runs.new_run(manifest, replace(like, run_id=folder)) for folder in folders]
        return await insert_runs(self.runs.access, found, Action.DISCOVER)

    async def without_folder(
        self, manifest: ManifestName, root: str, there: Set[str]
    ) -> AsyncIterator[Run]:
        """Find the runs right below a root whose folders were not `there`, and are not there now.

        It reads all runs of the manifest, and lists the bucket once for each run that it finds.
        """
        self._require_admin()
        read_page = partial(RunLists(self.runs).page, manifest, RunListFilter())
        try:
            async for run in walk_pages(read_page, _RUNS):
                folder = _folder_of(run)
                missed = _is_right_below(folder, root) and folder not in there
                if missed and not await self.runs.folders.files.list(folder, limit=1):
                    yield run
        except NotFound:
            # The manifest does not exist before its first run.
            return

    def _require_admin(self) -> None:
        self.runs.access.require_role(Role.ADMIN, ROOT)

    def _problem(self, manifest: ManifestName, folder: str) -> str | None:
        if problem := rules.run_id_problem(folder):
            return problem
        fits = key_bytes(RunName(manifest, folder)) <= INDEX_RANGE_BYTES
        return None if fits else f"makes a key of more than {INDEX_RANGE_BYTES} bytes"


def _folder_of(run: Run) -> str:
    """The folder of a run, whose id may have no slash at its end."""
    return run.run_id if run.run_id.endswith("/") else f"{run.run_id}/"


def _is_right_below(folder: str, root: str) -> bool:
    return folder.startswith(root) and "/" not in folder[len(root) : -1]


def _path_error(message: str) -> Invalid:
    return Invalid([FieldProblem(["path"], message)])
