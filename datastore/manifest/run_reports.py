"""The reports of the work on runs, made of a run before and after a change."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.manifest.records import Action, Run, RunState, Stage
from penstock.datastore.work_reports import RunChange, RunReport, RunSubject

_CHANGES: Final[Mapping[Action, RunChange]] = {
    Action.CLAIM: RunChange.CLAIMED,
    Action.PROCESSED: RunChange.PROCESSED,
    Action.LOADED: RunChange.LOADED,
    Action.FAIL: RunChange.FAILED,
    Action.GIVE_UP: RunChange.GIVEN_UP,
}
"""The actions that are changes of the work on a run."""

_IN_HAND: Final = (RunState.PROCESSING, RunState.LOADING)


def report_change(access: Access, before: Run, after: Run, action: Action) -> None:
    """Report what a committed change is for the work on a run, if it is anything for that."""
    for report in _reports_of(access, before, after, action):
        access.watch_run(report)


def report_first_claim(access: Access, run: Run) -> None:
    """Report a run that entered its manifest in the hands of a worker."""
    access.watch_run(_report(access, RunChange.CLAIMED, run))


def _reports_of(access: Access, before: Run, after: Run, action: Action) -> Iterator[RunReport]:
    in_hand = before.state in _IN_HAND
    if action is Action.RECOVER and in_hand:
        # Its worker did not live to tell it, but the output of the claim is there.
        yield _report(access, RunChange.PROCESSED, after)
    elif action in (Action.CLAIM, Action.RESET) and in_hand:
        yield _report(access, RunChange.CLAIM_LOST, before)
    change = _CHANGES.get(action)
    if change is not None:
        given_up = after.state is RunState.GIVEN_UP
        yield _report(access, RunChange.GIVEN_UP if given_up else change, after)


def _report(access: Access, change: RunChange, run: Run) -> RunReport:
    return RunReport(
        change=change,
        id=run.id,
        stage=Stage.TRANSFORM if change is RunChange.PROCESSED else run.stage,
        at=access.clock.now().timestamp(),
        attempt=run.attempt,
        claim=run.idempotency_key,
        subject=RunSubject(
            group=run.group,
            manifest=run.manifest,
            folder=run.run_id,
            fence=run.fence,
            pipeline=run.pipeline,
            saved_to=run.saved_to,
            types=run.shred_types or (),
            counts=run.counts or {},
            tags=tuple((tag.key, tag.value) for tag in run.tags),
            batch=run.batch,
            error=run.last_error,
        ),
    )
