"""Attempts pause, longer and longer, and all calls that start over after a conflict use them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.datastore.table import commit
from penstock.datastore.table.commit import ATTEMPTS, PAUSE, Attempts
from tests.support.parsed_modules import parse_naming

PRODUCT = Path(__file__).parents[3]
FLOORS = ("datastore", "resolvers", "schema", "server")
CONFLICTS = {"ConditionFailed", "StaleRead", "RepeatedNotification", "AlreadyDone"}


async def test_attempts_pause_before_each_but_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def note(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(commit, "sleep", note)
    monkeypatch.setattr(commit, "uniform", lambda low, high: low + high)
    assert [number async for number in Attempts()] == [*range(ATTEMPTS)]
    assert pauses == [number * PAUSE for number in range(1, ATTEMPTS)]


def trees_naming(*names: str) -> Iterator[tuple[str, ast.Module]]:
    for floor in FLOORS:
        for path in sorted((PRODUCT / floor).rglob("*.py")):
            if tree := parse_naming(path, names):
                yield str(path.relative_to(PRODUCT)), tree


def names_in(node: ast.AST | None) -> set[str]:
    found = () if node is None else ast.walk(node)
    return {each.id for each in found if isinstance(each, ast.Name)}


def starts_over(loop: ast.AST) -> bool:
    """Whether a loop counts, or has no end, and passes over a conflict."""
    if isinstance(loop, ast.For):
        is_counting = isinstance(loop.iter, ast.Call) and "range" in names_in(loop.iter.func)
    else:
        is_counting = isinstance(loop, ast.While)
    handled: set[str] = set()
    for node in ast.walk(loop) if is_counting else ():
        if isinstance(node, ast.ExceptHandler):
            handled |= names_in(node.type)
        elif isinstance(node, ast.withitem) and "suppress" in names_in(node.context_expr):
            handled |= names_in(node.context_expr)
    return not CONFLICTS.isdisjoint(handled)


def test_every_call_that_starts_over_after_a_conflict_uses_attempts() -> None:
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees_naming(*CONFLICTS)
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.While) and starts_over(node)
    ]
    assert found == []


def is_single_chunk(node: ast.AST) -> bool:
    """Whether a function only yields its one parameter."""
    if not isinstance(node, ast.AsyncFunctionDef):
        return False
    yielded = node.body[-1].value if isinstance(node.body[-1], ast.Expr) else None
    parameters = [each.arg for each in node.args.args]
    return len(node.body) <= 2 and (
        isinstance(yielded, ast.Yield) and [*names_in(yielded)] == parameters
    )


def test_a_content_becomes_a_stream_in_one_place() -> None:
    found = [
        path
        for path, tree in trees_naming("yield")
        for node in ast.walk(tree)
        if is_single_chunk(node)
    ]
    assert found == ["datastore/objects/chunks.py"]
