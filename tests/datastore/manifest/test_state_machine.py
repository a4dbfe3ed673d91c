"""The states of runs: each transition in each state is a change listed here, or is refused."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from penstock.datastore.errors import (
    AlreadyLoaded,
    FieldProblem,
    IllegalState,
    Invalid,
    LeaseHeld,
    LeaseLost,
    RunGivenUp,
    RunSkipped,
)
from penstock.datastore.manifest.records import Action, Run, RunState
from penstock.datastore.manifest.state_machine import TRANSITION_RULES, advance_run
from penstock.datastore.manifest.transitions import (
    Claim,
    Fail,
    Heartbeat,
    MarkLoaded,
    MarkProcessed,
    Recover,
    Reload,
    Reset,
    Retry,
    Skip,
    Transition,
    Unskip,
)
from tests.datastore.manifest.sample_runs import LOAD, RUN_ID, SAVED_TO, TRANSFORM, TYPES
from tests.support.sample_resources import USA

NOW = 1_544_529_600
NEW, PROCESSING, PROCESSED = RunState.NEW, RunState.PROCESSING, RunState.PROCESSED
LOADING, LOADED, FAILED = RunState.LOADING, RunState.LOADED, RunState.FAILED
GIVEN_UP = RunState.GIVEN_UP

_DONE: dict[str, Any] = {"processed_at": NOW - 50, "shred_types": TYPES, "saved_to": SAVED_TO}
_HELD: dict[str, Any] = {"lease_owner": "worker-1", "lease_until": NOW + 100}
_SHAPES: Mapping[str, dict[str, Any]] = {
    "NEW": {"fence": 0, "attempt": 0},
    "PROCESSING": _HELD,
    "PROCESSING, in no hand": {**_HELD, "lease_until": NOW},
    "PROCESSED": _DONE,
    "LOADING": _DONE | _HELD,
    "LOADING, in no hand": _DONE | _HELD | {"lease_until": NOW - 1},
    "LOADED": _DONE | {"loaded_at": NOW - 10, "loaded_by": "loader-1"},
    "FAILED to be transformed": {"last_error": "disk full"},
    "FAILED to load": _DONE | {"last_error": "no warehouse"},
    "GIVEN_UP": {"last_error": "disk full"},
}


def run(shape: str, **more: object) -> Run:
    fields: dict[str, Any] = {
        "id": "018f3b6e-0000-7000-8000-000000000001",
        "group": USA,
        "manifest": "snowplow",
        "run_id": RUN_ID,
        "added_at": NOW - 100,
        "added_by": "transformer-0.4.1",
        "to_skip": False,
        "state": _state(shape),
        "version": 7,
        "fence": 3,
        "attempt": 2,
    }
    return Run(**{**fields, **_SHAPES[shape], **more})


def _state(shape: str) -> RunState:
    return RunState(shape.replace(",", " ").split(maxsplit=1)[0])


FENCED: dict[str, Transition] = {
    "heartbeat": Heartbeat(fence=3, seconds=60),
    "processed": MarkProcessed(
        fence=3, shred_types=("a",), saved_to="s3n://b/run=1", counts={"n": 1}
    ),
    "loaded": MarkLoaded(fence=3, loaded_by="loader-2", counts={"n": 2}),
    "fail": Fail(fence=3, error="boom"),
}
ASKS: dict[str, Transition] = {
    "transform": Claim(stage=TRANSFORM, owner="worker-2", seconds=60),
    "load": Claim(stage=LOAD, owner="worker-2", seconds=60),
    **FENCED,
    "skip": Skip(reason="bad day"),
    "unskip": Unskip(),
    "recover": Recover(shred_types=("a",), saved_to="s3a://b/run=1/"),
    "reset": Reset(),
    "retry": Retry(reason="mended"),
    "reload": Reload(reason="dropped", force=True),
}

_OUTPUT = {"processed_at": NOW, "shred_types": ("a",), "saved_to": "s3://b/run=1/"}
_FREE = {"lease_owner": None, "lease_until": None, "last_error": None}
_TAKEN = {"lease_owner": "worker-2", "lease_until": NOW + 60}
_BLANK = {
    "processed_at": None,
    "shred_types": None,
    "saved_to": None,
    "attempt": 0,
    "counts": None,
    "retry_at": None,
    **_FREE,
}
_SKIPPED = {"to_skip": True, "skip_reason": "bad day"}

ALLOWED: Mapping[tuple[str, str], tuple[RunState, dict[str, Any]]] = {
    ("NEW", "transform"): (PROCESSING, {**_TAKEN, "fence": 1, "attempt": 1}),
    ("PROCESSING, in no hand", "transform"): (PROCESSING, {**_TAKEN, "fence": 4, "attempt": 3}),
    ("FAILED to be transformed", "transform"): (PROCESSING, {**_TAKEN, "fence": 4, "attempt": 3}),
    ("PROCESSED", "load"): (LOADING, {**_TAKEN, "fence": 4, "attempt": 1}),
    ("LOADING, in no hand", "load"): (LOADING, {**_TAKEN, "fence": 4, "attempt": 3}),
    ("FAILED to load", "load"): (LOADING, {**_TAKEN, "fence": 4, "attempt": 3}),
    ("PROCESSING", "heartbeat"): (PROCESSING, {"lease_until": NOW + 60}),
    ("PROCESSING, in no hand", "heartbeat"): (PROCESSING, {"lease_until": NOW + 60}),
    ("LOADING", "heartbeat"): (LOADING, {"lease_until": NOW + 60}),
    ("LOADING, in no hand", "heartbeat"): (LOADING, {"lease_until": NOW + 60}),
    ("PROCESSING", "processed"): (PROCESSED, {**_OUTPUT, **_FREE, "counts": {"n": 1}}),
    ("PROCESSING, in no hand", "processed"): (PROCESSED, {**_OUTPUT, **_FREE, "counts": {"n": 1}}),
    ("LOADING", "loaded"): (
        LOADED,
        {**_FREE, "loaded_at": NOW, "loaded_by": "loader-2", "counts": {"n": 2}},
    ),
    ("LOADING, in no hand", "loaded"): (
        LOADED,
        {**_FREE, "loaded_at": NOW, "loaded_by": "loader-2", "counts": {"n": 2}},
    ),
    **{
        (shape, "fail"): (FAILED, {**_FREE, "last_error": "boom"})
        for shape in _SHAPES
        if shape.startswith(("PROCESSING", "LOADING"))
    },
    **{
        (shape, "skip"): (_state(shape), _SKIPPED)
        for shape in ("NEW", "PROCESSED", "FAILED to be transformed", "FAILED to load", "GIVEN_UP")
    },
    **{
        (shape, "retry"): (FAILED, {"attempt": 0, "retry_at": None})
        for shape in ("FAILED to be transformed", "FAILED to load", "GIVEN_UP")
    },
    ("GIVEN_UP", "recover"): (PROCESSED, {**_OUTPUT, **_FREE, "attempt": 0}),
    ("GIVEN_UP", "reset"): (NEW, _BLANK),
    ("NEW", "recover"): (PROCESSED, {**_OUTPUT, **_FREE, "attempt": 0}),
    ("PROCESSING, in no hand", "recover"): (PROCESSED, {**_OUTPUT, **_FREE, "attempt": 0}),
    ("FAILED to be transformed", "recover"): (PROCESSED, {**_OUTPUT, **_FREE, "attempt": 0}),
    ("FAILED to load", "recover"): (PROCESSED, {**_OUTPUT, **_FREE, "attempt": 0}),
    ("NEW", "reset"): (NEW, _BLANK),
    ("PROCESSING, in no hand", "reset"): (NEW, _BLANK),
    ("FAILED to be transformed", "reset"): (NEW, _BLANK),
    ("FAILED to load", "reset"): (NEW, _BLANK),
    ("LOADED", "reload"): (PROCESSED, {"loaded_at": None, "loaded_by": None, "attempt": 0}),
}
UNCHANGED = {
    (shape, "unskip")
    for shape in ("NEW", "PROCESSED", "FAILED to be transformed", "FAILED to load", "GIVEN_UP")
}
HELD_BY_ANOTHER = {("PROCESSING", "transform"), ("LOADING", "load")} | {
    ("PROCESSING", "recover"),
    ("PROCESSING", "reset"),
}


@pytest.mark.parametrize("shape", _SHAPES)
@pytest.mark.parametrize("asked", ASKS)
def test_every_ask_in_every_state_is_as_the_table_says(shape: str, asked: str) -> None:
    before, place = run(shape), (shape, asked)
    if place in ALLOWED:
        state, changes = ALLOWED[place]
        after = advance_run(before, ASKS[asked], NOW)
        assert asdict(after) == {**asdict(before), "version": 8, "state": state, **changes}
    elif place in UNCHANGED:
        assert advance_run(before, ASKS[asked], NOW) is before
    else:
        with pytest.raises(_refusal(place, before)) as refused:
            advance_run(before, ASKS[asked], NOW)
        assert refused.value.state == before.state
        assert type(refused.value) is _refusal(place, before)


def _refusal(place: tuple[str, str], before: Run) -> type[IllegalState]:
    if place in HELD_BY_ANOTHER:
        return LeaseHeld
    if before.state is NEW and place[1] in FENCED:
        return LeaseLost
    if before.state is GIVEN_UP and place[1] in ("transform", "load"):
        return RunGivenUp
    return AlreadyLoaded if before.state is LOADED else IllegalState


@pytest.mark.parametrize("shape", _SHAPES)
@pytest.mark.parametrize("asked", FENCED)
def test_a_fence_that_is_not_the_latest_is_refused_in_every_state(shape: str, asked: str) -> None:
    with pytest.raises(LeaseLost):
        advance_run(run(shape, fence=4), FENCED[asked], NOW)


@pytest.mark.parametrize(
    ("shape", "stage"), [("NEW", TRANSFORM), ("PROCESSED", LOAD), ("FAILED to load", LOAD)]
)
def test_nobody_claims_a_run_that_is_to_be_skipped(shape: str, stage: object) -> None:
    skipped = run(shape, to_skip=True, skip_reason="bad day")
    asked = ASKS["transform" if stage is TRANSFORM else "load"]
    with pytest.raises(RunSkipped):
        advance_run(skipped, asked, NOW)
    unskipped = advance_run(skipped, Unskip(reason="all is well"), NOW)
    assert (unskipped.to_skip, unskipped.skip_reason) == (False, None)
    assert advance_run(unskipped, asked, NOW).lease_owner == "worker-2"


def test_what_was_done_before_is_not_done_again() -> None:
    held = run("PROCESSING")
    assert advance_run(held, Claim(stage=TRANSFORM, owner="worker-1"), NOW) is held
    processed = advance_run(held, FENCED["processed"], NOW)
    assert advance_run(processed, FENCED["processed"], NOW + 5) is processed
    loaded = advance_run(run("LOADING"), FENCED["loaded"], NOW)
    assert advance_run(loaded, FENCED["loaded"], NOW + 5) is loaded
    failed = advance_run(held, FENCED["fail"], NOW)
    assert advance_run(failed, FENCED["fail"], NOW + 5) is failed
    skipped = advance_run(run("NEW"), ASKS["skip"], NOW)
    assert advance_run(skipped, ASKS["skip"], NOW + 5) is skipped
    assert advance_run(skipped, Skip(reason="worse"), NOW).skip_reason == "worse"


def test_the_same_owner_takes_up_again_what_ran_out() -> None:
    again = advance_run(
        run("PROCESSING, in no hand"), Claim(stage=TRANSFORM, owner="worker-1"), NOW
    )
    assert (again.fence, again.attempt, again.lease_until) == (4, 3, NOW + 300)


def test_saying_something_else_of_what_is_done_is_refused() -> None:
    processed = advance_run(run("PROCESSING"), FENCED["processed"], NOW)
    other = MarkProcessed(fence=3, shred_types=("b",), saved_to="s3://b/run=1/")
    with pytest.raises(IllegalState):
        advance_run(processed, other, NOW)


def test_no_run_is_finished_before_it_was_begun() -> None:
    early = advance_run(run("PROCESSING", added_at=NOW + 9), FENCED["processed"], NOW)
    assert early.processed_at == NOW + 9
    late = advance_run(run("LOADING", processed_at=NOW + 9), FENCED["loaded"], NOW)
    assert late.loaded_at == NOW + 9


def test_counts_are_added_to_what_was_counted_before() -> None:
    counted = advance_run(run("LOADING", counts={"rows": 5, "n": 1}), FENCED["loaded"], NOW)
    assert counted.counts == {"rows": 5, "n": 2}


def test_the_token_of_a_claim_is_that_of_no_other() -> None:
    first = advance_run(run("NEW"), ASKS["transform"], NOW)
    second = advance_run(replace(first, lease_until=NOW), ASKS["transform"], NOW)
    assert first.idempotency_key != second.idempotency_key
    assert replace(first, id="other").idempotency_key != first.idempotency_key


LEGAL = st.sampled_from([*ASKS.values()])


@given(st.lists(LEGAL, max_size=30), st.integers(0, 200))
def test_whatever_is_asked_a_run_stays_one_that_the_document_allows(
    asks: list[Transition], pace: int
) -> None:
    now, current = NOW, run("NEW")
    for one in asks:
        ask = one if one.fence is None else dataclasses.replace(one, fence=current.fence)
        now += pace
        before = current
        try:
            current = advance_run(current, ask, now)
        except IllegalState:
            continue
        assert current.fence >= before.fence
        assert current.version == before.version + (current is not before)
        _assert_documented(current)


def _assert_documented(current: Run) -> None:
    output = [current.processed_at, current.shred_types, current.saved_to]
    load = [current.loaded_at, current.loaded_by]
    assert all(part is None for part in output) or all(part is not None for part in output)
    assert all(part is None for part in load) or all(part is not None for part in [*load, *output])
    assert (current.loaded_at is not None) is (current.state is LOADED)
    if current.state in (NEW, PROCESSING):
        assert current.processed_at is None
    if current.state in (PROCESSED, LOADING, LOADED):
        assert current.processed_at is not None
    assert not (current.state is LOADED and current.to_skip)
    assert (current.lease_owner is not None) is (current.state in (PROCESSING, LOADING))


def test_the_table_has_no_line_twice_and_every_action_on_a_run() -> None:
    lines = [
        (rule.action, rule.stage, source) for rule in TRANSITION_RULES for source in rule.sources
    ]
    assert len(lines) == len(set(lines))
    actions = {rule.action for rule in TRANSITION_RULES}
    assert actions == set(Action) - {Action.DISCOVER, Action.IMPORT, Action.COPY}


def test_a_run_has_a_hundred_counts_of_all_its_workers_and_no_more() -> None:
    before = run("LOADING", counts={f"t{number}": 1 for number in range(51)})
    for names, problem in ((49, None), (50, "are more than 100, with those reported before")):
        counts = {**{f"l{number}": 1 for number in range(names)}, "t0": 2}
        loaded = MarkLoaded(fence=3, loaded_by="loader-2", counts=counts)
        if problem is None:
            found = advance_run(before, loaded, NOW).counts or {}
            assert (len(found), found["t0"]) == (100, 2)
        else:
            with pytest.raises(Invalid) as refused:
                advance_run(before, loaded, NOW)
            assert refused.value.problems == [FieldProblem(["counts"], problem)]
