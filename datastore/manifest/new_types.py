"""The plan of new shredded types: those that waiting runs bring, and no loaded run had.

A Loader adds a column for each before it loads the first run that has it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.manifest.lists import RunListFilter, RunLists
from penstock.datastore.manifest.records import ManifestName, Run, RunState
from penstock.datastore.manifest.rows import position_of
from penstock.datastore.table.pages import walk_pages

_WAITING: Final = (RunState.PROCESSED, RunState.LOADING, RunState.FAILED)
"""The states in which runs may have an output that is to be loaded."""

_PAGE = 100


class TypePlan(NamedTuple):
    """The number of runs that wait for a Loader, and the new types of the first run with each."""

    waiting: int
    steps: Sequence[tuple[Run, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class NewTypes:
    """The search for new shredded types in the manifests that the caller may read."""

    lists: RunLists

    async def plan(self, manifest: ManifestName) -> TypePlan:
        """Find what is new in the runs that wait, in the order in which they were added.

        Loaded runs are read from the newest on, until each type was found in one; all of them if a
        type is new. Raises NotFound without a manifest.
        """
        waiting = [
            run
            for state in _WAITING
            async for run in self._runs(manifest, RunListFilter(state=state, to_skip=False))
            if run.processed_at is not None
        ]
        unknown = {each for run in waiting for each in run.shred_types or ()}
        if unknown:
            loaded = RunListFilter(state=RunState.LOADED, newest_first=True)
            async for run in self._runs(manifest, loaded):
                unknown.difference_update(run.shred_types or ())
                if not unknown:
                    break
        steps = []
        for run in sorted(waiting, key=position_of):
            fresh = tuple(each for each in run.shred_types or () if each in unknown)
            unknown.difference_update(fresh)
            if fresh:
                steps.append((run, fresh))
        return TypePlan(len(waiting), steps)

    def _runs(self, manifest: ManifestName, listed: RunListFilter) -> AsyncIterator[Run]:
        return walk_pages(partial(self.lists.page, manifest, listed), _PAGE)
