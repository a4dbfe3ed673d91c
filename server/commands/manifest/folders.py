"""`penstock manifest folders`: compares the folders of the bucket with the runs of a manifest."""

from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Annotated, Final

from cyclopts import Parameter

from penstock.datastore.manifest.folders import RunFolders
from penstock.datastore.manifest.records import ManifestName, Run
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.session import Session
from penstock.server.commands.manifest.context import (
    Batch,
    ManifestOptions,
    PipelineName,
    SkipReason,
    Tags,
    parse_tags,
    run_with_session,
)
from penstock.server.commands.options import StoreOptions
from penstock.server.core.command_output import CommandOutput, put_in_line
from penstock.server.core.progress_bars import Advance, show_progress

MOST_LISTED: Final = 20
"""The most folders or runs of a kind in the text; `--json` lists all."""


def compare_folders(
    path: Annotated[
        str,
        Parameter(help="Folder in the bucket of the server, right below which runs have theirs."),
    ],
    /,
    *,
    manifest: ManifestOptions,
    register: Annotated[
        bool, Parameter(help="Add a run for each folder without one. By default nothing changes.")
    ] = False,
    added_by: Annotated[
        str | None, Parameter(help="Program that finds the runs. By default this one.")
    ] = None,
    pipeline: PipelineName = None,
    skip_reason: SkipReason = None,
    tag: Tags = None,
    batch: Batch = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> CommandOutput:
    """List the bucket, and say which folders have no run and which runs have no folder."""
    like = Discovery(
        run_id=path,
        added_by=added_by or f"penstock-{version('penstock')}",
        pipeline=pipeline,
        skip_reason=skip_reason,
        tags=parse_tags(tag),
        batch=batch,
    )

    async def work(session: Session) -> Comparison:
        comparing = Comparison(session.run_folders, manifest.name, path)
        with show_progress("Comparing", None) as progress:
            await comparing.run(like if register else None, progress)
        return comparing

    compared = run_with_session(options, manifest.user, work, with_files=True)
    return CommandOutput(compared.text(register=register), compared.data)


@dataclass(slots=True)
class Comparison:
    """The comparison of the folders below a path with the runs of a manifest."""

    folders: RunFolders
    manifest: ManifestName
    path: str
    there: set[str] = field(default_factory=set)
    without_run: list[str] = field(default_factory=list)
    without_folder: list[Run] = field(default_factory=list)
    invalid: list[tuple[str, str]] = field(default_factory=list)
    registered: int = 0

    async def run(self, like: Discovery | None, progress: Advance) -> None:
        """Compare all folders, and register runs `like` one if it is given."""
        root, after = self.folders.root_of(self.path), ""
        while True:
            page = await self.folders.page(self.manifest, root, after)
            self.there.update(page.folders)
            self.without_run += page.without_run
            self.invalid += page.invalid
            if like is not None:
                self.registered += await self.folders.register(
                    self.manifest, page.without_run, like
                )
            progress(len(page.folders))
            if page.reached is None:
                break
            after = page.reached
        async for run in self.folders.without_folder(self.manifest, root, self.there):
            self.without_folder.append(run)

    def text(self, *, register: bool) -> str:
        """The numbers, the first of each kind, and what was done."""
        lost = Counter(run.state for run in self.without_folder)
        states = ", ".join(f"{count} {state}" for state, count in sorted(lost.items()))
        lines = [
            f"Folders: {len(self.there)}, without a run: {len(self.without_run)}. "
            f"Runs without a folder: {len(self.without_folder)}{f' ({states})' if states else ''}."
        ]
        lines += _first_of([f"no run: {folder}" for folder in self.without_run])
        lines += _first_of(
            [f"no folder: {run.run_id} ({run.state})" for run in self.without_folder]
        )
        lines += _first_of([f"cannot be a run: {name}: {reason}" for name, reason in self.invalid])
        if register:
            lines.append(f"Runs added: {self.registered}.")
        elif self.without_run:
            lines.append("Nothing was changed; with --register, a run is added for each folder.")
        return "\n".join(lines)

    @property
    def data(self) -> dict[str, object]:
        """All of it, for `--json`."""
        return {
            "folders": len(self.there),
            "withoutRun": self.without_run,
            "withoutFolder": [
                {"runId": run.run_id, "state": run.state} for run in self.without_folder
            ],
            "invalid": [{"folder": name, "reason": reason} for name, reason in self.invalid],
            "registered": self.registered,
        }


def _first_of(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LISTED
    rest = [f"... and {more} more; --json tells all."] if more > 0 else []
    return [*map(put_in_line, lines[:MOST_LISTED]), *rest]
