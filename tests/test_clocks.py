"""No test depends on how long the run takes, or on how busy the machine is.

These rules see what can be seen in the code alone; tests/support/patience.py, loop_clock.py and
processor_time.py hold what tests use instead.
"""

import ast
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.parsed_modules import parse_module
from tests.support.patience import HUNG_SECONDS

Finding: TypeAlias = tuple[int, str]
Rule: TypeAlias = Callable[[ast.Module], Iterator[Finding]]

pytestmark = pytest.mark.runs_together("clocks")  # They share what is found in the modules.

TESTS = Path(__file__).parent
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NOW = {"now", "utcnow", "today", "monotonic", "perf_counter", "sign_dev_token", "sign_claims"}
STOPWATCHES = {"monotonic", "perf_counter"}
WAITS = {"timeout", "wait_for", "create_connection"}
REQUESTS = {"get", "post", "put", "delete", "request", "stream", "Client", "AsyncClient"}
PAGES = "from playwright.async_api import expect"
PAUSES_OF_PAGES = {"wait_for_timeout", "wait_for_load_state"}
READS_OF_PAGES = {
    *("all_inner_texts", "all_text_contents", "count", "get_attribute", "inner_html"),
    *("inner_text", "input_value", "is_checked", "is_disabled", "is_enabled", "is_hidden"),
    *("is_visible", "text_content"),
}
ALLOWED = {
    "documents/test_pipelines.py: a sleep before an assertion": "two changes have different times",
    "schema/executions/test_executions.py: a bound of 0.01 s": "only the pace of a poll",
    "schema/test_subscriptions.py: a bound of 0.01 s": "waits for what never comes",
    "scan/__main__.py: a stopwatch": "tells people how long a scan took",
    "server/hostile/harm_checks.py: a poll that gives up after some rounds": "counts"
    " processor time, and tries again what other work of the loop may have spoilt",
    "server/runtime/test_worker_pool.py: a sleep before an assertion": "nothing tells of a process"
    " that goes on; on a busy machine it has not begun, which is no failure either",
    "server/streams/test_websocket_operations.py: a stopwatch": "a least time only",
    "support/patience.py: a stopwatch": "the bound itself",
    "support/workers/plugin.py: a stopwatch": "ends a test that hangs",
    "support/workers/worker.py: a stopwatch": "only the pace of messages",
}


def name_of(node: ast.AST) -> str:
    """Return the last part of a name, or of the function of a call; empty for anything else."""
    match node:
        case ast.Call(func=func):
            return name_of(func)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Return what runs when the module is imported: all but the bodies of functions."""
    for field, value in ast.iter_fields(node):
        if isinstance(node, (*FUNCTIONS, ast.Lambda)) and field == "body":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child
                yield from at_import(child)


@lru_cache(maxsize=1)
def nodes(module: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(module))


@lru_cache(maxsize=1)
def calls(module: ast.AST) -> tuple[ast.Call, ...]:
    return tuple(node for node in nodes(module) if isinstance(node, ast.Call))


def number(node: ast.AST | None) -> float | None:
    """Return the value of a number in the code; None for anything else."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def times_at_import(module: ast.Module) -> Iterator[Finding]:
    for node in at_import(module):
        if isinstance(node, ast.Call) and (
            name_of(node) in NOW or ast.unparse(node.func) == "time.time"
        ):
            yield node.lineno, f"{name_of(node)} at import"


def short_bounds(module: ast.Module) -> Iterator[Finding]:
    for call in calls(module):
        bounds = [each.value for each in call.keywords if (each.arg or "").endswith("timeout")]
        if name_of(call) in WAITS:
            bounds += call.args[-1:]
        for bound in map(number, bounds):
            if bound is not None and 0 < bound < HUNG_SECONDS:
                yield call.lineno, f"a bound of {bound:g} s"


def hidden_bounds(module: ast.Module) -> Iterator[Finding]:
    """Find requests of httpx over a network that end after its own five seconds."""
    for call in calls(module):
        given = {each.arg for each in call.keywords}
        if name_of(call) not in REQUESTS or given & {"timeout", "transport"}:
            continue
        if name_of(call) == "AsyncClient" or ast.unparse(call.func).startswith("httpx."):
            yield call.lineno, "a request without a timeout"


def short_tokens(module: ast.Module) -> Iterator[Finding]:
    for call in calls(module):
        if name_of(call) == "sign_dev_token" and (
            {"seconds", "minutes"} & {each.arg for one in calls(call) for each in one.keywords}
        ):
            yield call.lineno, "a token for less than an hour"


def stopwatches(module: ast.Module) -> Iterator[Finding]:
    for call in calls(module):
        if name_of(call) in STOPWATCHES:
            yield call.lineno, "a stopwatch"


def is_sleep(statement: ast.stmt) -> bool:
    """Whether the statement sleeps; `sleep(0)` only gives others their turn."""
    return any(
        isinstance(call, ast.Call)
        and name_of(call) == "sleep"
        and [number(one) for one in call.args] != [0]
        for call in (ast.walk(statement) if isinstance(statement, ast.Expr) else ())
    )


def blocks(module: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in nodes(module):
        for value in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(value, list):
                yield value


def slept_assertions(module: ast.Module) -> Iterator[Finding]:
    for block in blocks(module):
        for first, second in pairwise(block):
            if isinstance(second, ast.Assert) and is_sleep(first):
                yield first.lineno, "a sleep before an assertion"


def counted_polls(module: ast.Module) -> Iterator[Finding]:
    for node in nodes(module):
        if not isinstance(node, ast.For) or name_of(node.iter) != "range":
            continue
        inside = [one for one in ast.walk(node) if isinstance(one, ast.stmt)]
        if any(isinstance(one, ast.Break | ast.Return) for one in inside) and any(
            map(is_sleep, inside)
        ):
            yield node.lineno, "a poll that gives up after some rounds"


def released_ports(module: ast.Module) -> Iterator[Finding]:
    """Find ports that the system chose: once released, it soon gives them to somebody else."""
    for call in calls(module):
        address = call.args[0] if name_of(call) == "bind" and call.args else None
        if isinstance(address, ast.Tuple) and number(address.elts[-1]) == 0:
            yield call.lineno, "a port to be released"


def timed_draws(module: ast.Module) -> Iterator[Finding]:
    """Find properties that fail when Hypothesis takes long to draw: they replace what we set."""
    for call in calls(module):
        for each in call.keywords:
            if each.arg == "suppress_health_check" and "too_slow" not in ast.unparse(each.value):
                yield call.lineno, "a check of the time of drawing"


def hasty_reads(module: ast.Module) -> Iterator[Finding]:
    """Find what reads a page of a browser once, where `expect` waits until it has changed."""
    imports = (node.module for node in nodes(module) if isinstance(node, ast.ImportFrom))
    if "playwright.async_api" not in imports:
        return
    for call in calls(module):
        if name_of(call) in PAUSES_OF_PAGES:
            yield call.lineno, "a pause of a page"
    for node in nodes(module):
        if isinstance(node, ast.Assert):
            for one in ast.walk(node.test):
                if isinstance(one, ast.Await) and name_of(one.value) in READS_OF_PAGES:
                    yield one.lineno, "an assertion on a page that may still change"


RULES: tuple[Rule, ...] = (
    times_at_import,
    short_bounds,
    hidden_bounds,
    short_tokens,
    stopwatches,
    slept_assertions,
    counted_polls,
    released_ports,
    timed_draws,
    hasty_reads,
)


@cache
def findings() -> dict[Rule, tuple[tuple[str, str], ...]]:
    """Return what each rule finds in all tests: the file with the reason, and the place.

    No tree is kept: a million nodes would be examined by each garbage collection from then on.
    """
    found: dict[Rule, list[tuple[str, str]]] = {rule: [] for rule in RULES}
    for file in sorted(TESTS.rglob("*.py")):
        if "node_modules" in file.parts:
            continue
        module, path = parse_module(file), file.relative_to(TESTS)
        for rule, places in found.items():
            places.extend((f"{path}: {what}", f"{path}:{line}") for line, what in rule(module))
    return {rule: tuple(places) for rule, places in found.items()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_test_depends_on_time(rule: Rule) -> None:
    assert [(place, found) for found, place in findings()[rule] if found not in ALLOWED] == []


def test_each_exception_is_needed() -> None:
    found = {found for places in findings().values() for found, _ in places}
    assert [one for one in ALLOWED if one not in found] == []


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (times_at_import, "TODAY = datetime.now(UTC)"),
        (times_at_import, "class A:\n    at: float = time.time()"),
        (times_at_import, "@pytest.mark.parametrize('a', [sign_claims(KEY, {})])\ndef f(): ..."),
        (times_at_import, "def f(at=date.today()): ..."),
        (short_bounds, "async with asyncio.timeout(5): ..."),
        (short_bounds, "await asyncio.wait_for(x, 0.5)"),
        (short_bounds, "process.communicate(timeout=60)"),
        (short_bounds, "connect(url, open_timeout=10)"),
        (hidden_bounds, "httpx.get(url)"),
        (hidden_bounds, "AsyncClient()"),
        (short_tokens, "sign_dev_token(KEY, 'a', {}, None, timedelta(minutes=5))"),
        (stopwatches, "began = time.monotonic()"),
        (slept_assertions, "await asyncio.sleep(0.1)\nassert done"),
        (released_ports, "probe.bind(('127.0.0.1', 0))"),
        (timed_draws, "settings(suppress_health_check=[HealthCheck.function_scoped_fixture])"),
        (hasty_reads, f"{PAGES}\nassert await page.locator('li').count() == 2"),
        (hasty_reads, f"{PAGES}\nassert 'a' in await cell.inner_text()"),
        (hasty_reads, f"{PAGES}\nawait page.wait_for_load_state('networkidle')"),
        (counted_polls, "for _ in range(9):\n    if done:\n        break\n    time.sleep(0.1)"),
    ],
)
def test_each_rule_finds_its_class(rule: Rule, code: str) -> None:
    assert len(list(rule(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "def f(): return datetime.now(UTC)",
        "now = lambda: time.time()",
        "async with asyncio.timeout(HUNG_SECONDS): ...",
        "httpx.AsyncClient(transport=ASGITransport(app))",
        "await asyncio.sleep(0)\nassert done",
        "for n in range(9):\n    time.sleep(0.1)",
        f"{PAGES}\nawait expect(cell).to_have_text('a')\nassert all.count(1) == 2",
    ],
)
def test_what_depends_on_no_time_is_left_alone(code: str) -> None:
    assert [found for rule in RULES for found in rule(ast.parse(code))] == []
