"""The state machine of runs, as one table of sources, actions, targets and conditions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from penstock.datastore.errors import (
    AlreadyLoaded,
    IllegalState,
    LeaseHeld,
    LeaseLost,
    RetryLater,
    RunGivenUp,
    RunSkipped,
)
from penstock.datastore.manifest.records import Action, Run, RunState, Stage
from penstock.datastore.manifest.transitions import Transition

TransitionCondition: TypeAlias = "Callable[[Run, Transition, int], IllegalState | None]"
"""A check of a transition at a time in seconds; it returns the error if it fails."""

NEW, PROCESSING, PROCESSED = RunState.NEW, RunState.PROCESSING, RunState.PROCESSED
LOADING, LOADED, FAILED = RunState.LOADING, RunState.LOADED, RunState.FAILED
GIVEN_UP = RunState.GIVEN_UP


def fence_matches(run: Run, transition: Transition, now: int) -> IllegalState | None:
    if transition.fence == run.fence:
        return None
    words = f"The fence {transition.fence} is not that of the latest claim, {run.fence}."
    return LeaseLost(words, run.state)


def lease_is_free(run: Run, transition: Transition, now: int) -> IllegalState | None:
    if not run.is_leased(now):
        return None
    words = f"{run.lease_owner} has the run in hand for another {(run.lease_until or 0) - now} s."
    return LeaseHeld(words, run.state)


def not_skipped(run: Run, transition: Transition, now: int) -> IllegalState | None:
    return RunSkipped("The run is marked to be skipped.", run.state) if run.to_skip else None


def not_given_up(run: Run, transition: Transition, now: int) -> IllegalState | None:
    """Refuse a run whose last attempt ended with its lease."""
    most = None if transition.retries is None else transition.retries.max_attempts
    if most is None or run.state not in (PROCESSING, LOADING) or run.attempt < most:
        return None
    return RunGivenUp(f"All {most} attempts were made: `retryRun` allows more.", run.state)


def is_due(run: Run, transition: Transition, now: int) -> IllegalState | None:
    if run.is_due(now):
        return None
    words = f"The run failed, and may be tried again in {(run.retry_at or 0) - now} s."
    return RetryLater(words, run.state)


def not_processed_yet(run: Run, transition: Transition, now: int) -> IllegalState | None:
    """Refuse a run that has an output.

    Other programs would see it as PROCESSED and could load it meanwhile.
    """
    if run.processed_at is None:
        return None
    return IllegalState("The run failed to load: reset it to transform it again.", run.state)


def processed_before(run: Run, transition: Transition, now: int) -> IllegalState | None:
    if run.processed_at is not None:
        return None
    return IllegalState("The run failed to be transformed: there is nothing to load.", run.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionRule:
    """One line of the table. Without `target` the state stays; without `stage` it is for any."""

    sources: tuple[RunState, ...]
    action: Action
    stage: Stage | None = None
    target: RunState | None = None
    conditions: tuple[TransitionCondition, ...] = ()


TRANSITION_RULES = (
    TransitionRule(
        sources=(NEW, FAILED, PROCESSING),
        action=Action.CLAIM,
        stage=Stage.TRANSFORM,
        target=PROCESSING,
        conditions=(not_skipped, lease_is_free, not_processed_yet, not_given_up, is_due),
    ),
    TransitionRule(
        sources=(PROCESSED, FAILED, LOADING),
        action=Action.CLAIM,
        stage=Stage.LOAD,
        target=LOADING,
        conditions=(not_skipped, lease_is_free, processed_before, not_given_up, is_due),
    ),
    TransitionRule(
        sources=(PROCESSING, LOADING), action=Action.HEARTBEAT, conditions=(fence_matches,)
    ),
    TransitionRule(
        sources=(PROCESSING,),
        action=Action.PROCESSED,
        target=PROCESSED,
        conditions=(fence_matches,),
    ),
    TransitionRule(
        sources=(LOADING,), action=Action.LOADED, target=LOADED, conditions=(fence_matches,)
    ),
    TransitionRule(
        sources=(PROCESSING, LOADING),
        action=Action.FAIL,
        target=FAILED,
        conditions=(fence_matches,),
    ),
    TransitionRule(
        sources=(PROCESSING, LOADING),
        action=Action.GIVE_UP,
        target=GIVEN_UP,
        conditions=(fence_matches, lease_is_free),
    ),
    TransitionRule(sources=(FAILED, GIVEN_UP), action=Action.RETRY, target=FAILED),
    TransitionRule(sources=(NEW, PROCESSED, FAILED, GIVEN_UP), action=Action.SKIP),
    TransitionRule(sources=(NEW, PROCESSED, FAILED, GIVEN_UP), action=Action.UNSKIP),
    TransitionRule(
        sources=(NEW, FAILED, GIVEN_UP, PROCESSING),
        action=Action.RECOVER,
        target=PROCESSED,
        conditions=(lease_is_free,),
    ),
    TransitionRule(
        sources=(NEW, FAILED, GIVEN_UP, PROCESSING),
        action=Action.RESET,
        target=NEW,
        conditions=(lease_is_free,),
    ),
    TransitionRule(sources=(LOADED,), action=Action.RELOAD, target=PROCESSED),
    TransitionRule(sources=tuple(RunState), action=Action.TAG),
)


def advance_run(run: Run, transition: Transition, now: int) -> Run:
    """The run after the transition; the same object if the transition is a repetition.

    Raises IllegalState, or one of its subclasses, if the table does not allow the transition.
    """
    if transition.is_repetition(run, now):
        return run
    rule = _find_rule(run, transition, now)
    for condition in rule.conditions:
        if failure := condition(run, transition, now):
            raise failure
    reached = {"state": rule.target or run.state, **transition.changes(run, now)}
    return replace(run, version=run.version + 1, **reached)


def _find_rule(run: Run, transition: Transition, now: int) -> TransitionRule:
    rules = [
        rule
        for rule in TRANSITION_RULES
        if rule.action is transition.action and rule.stage in (None, transition.stage)
    ]
    for rule in rules:
        if run.state in rule.sources:
            return rule
    # A worker that lost the run gets LeaseLost, whatever state the run is in now.
    if any(fence_matches in rule.conditions for rule in rules) and (
        failure := fence_matches(run, transition, now)
    ):
        raise failure
    if run.state is LOADED:
        raise AlreadyLoaded("The run was loaded; only a reload undoes that.", run.state)
    if run.state is GIVEN_UP and transition.action is Action.CLAIM:
        raise RunGivenUp("The run was given up: `retryRun` lets workers try it again.", run.state)
    raise IllegalState(f"A run that is {run.state} takes no `{transition.action}`.", run.state)
