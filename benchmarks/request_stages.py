"""Measures what each stage of a request adds to its processor time.

Run as `python -m benchmarks.request_stages`. The whole application answers the traffic of the
peers' benchmark from memory, over connections without a network. It is cut off behind one stage
after another, where it answers at once with as many bytes. The stages take turns. What one adds is
the middle of the differences between neighbours of a turn, which a machine that grows slower or
faster meanwhile does not change.
"""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from statistics import median
from time import process_time
from typing import Any, Final, Self, TypeAlias
from unittest.mock import patch

import orjson
import uvloop

from benchmarks.page_tables import add_write_option, below_machine, show_tables
from benchmarks.peers.query_shapes import SHAPES, Shape
from benchmarks.peers.records import make_data
from benchmarks.peers.reference_answers import ReferenceAnswers
from benchmarks.peers.traffic import draw_calls
from benchmarks.request_profile import CONNECTIONS, Ask, open_connections, open_handwritten
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.operations import OperationResult
from penstock.server.edge import fast_routes
from penstock.server.edge import graphql as edge
from penstock.server.edge.request import parse_request
from penstock.server.edge.response import HttpResponse, graphql_response

MARK: Final = "request stages"
WHOLE: Final = "all"
BY_HAND: Final = "by hand"

_WARM_UP: Final = 40
_TURN: Final = 10
"""How often each connection sends in a turn."""

_SAMPLED: Final = 40

Cut: TypeAlias = tuple[type, str, Callable[..., Awaitable[Any]]]
"""The class and the name of the method that answers instead of what comes behind it."""


class _CutApplication:
    """Methods that replace those of the application; each answers with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._data = {"data": orjson.Fragment(body)}

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        size = b"%d" % len(self._body)
        headers = [(b"content-type", b"application/json"), (b"content-length", size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})

    async def find_caller(self, app: Any, incoming: Any, media: Any) -> HttpResponse:
        await app._authenticate(incoming.headers)  # noqa: SLF001 - the application is cut open
        return graphql_response(200, self._body, media, {})

    async def receive(self, _app: Any, _incoming: Any, _caller: Any, _text: bytes) -> Any:
        return OperationResult(dict(self._data))

    async def prepare(self, app: Any, incoming: Any, caller: Any, text: bytes) -> Any:
        check = partial(edge.check_operation_kind, incoming=incoming)
        source = edge.RequestSource(partial(parse_request, incoming), check)
        reader = app._reader  # noqa: SLF001 - the application is cut open
        await reader.read(caller, text, source, incoming.record)
        return OperationResult(dict(self._data))

    async def run(self, _engine: Any, _prepared: Any, _context: Any, _id: str) -> Any:
        return OperationResult(dict(self._data))


def _cuts(body: bytes) -> dict[str, Cut | None]:
    """The method that ends the application behind each stage; None leaves it whole."""
    cut, http = _CutApplication(body), edge.GraphQLApp
    return {
        "connection, head, answer": (fast_routes.FastRouteApp, "__call__", _ignore_app(cut.answer)),
        "hosts, routes, headers": (http, "__call__", _ignore_app(cut.answer)),
        "caller": (http, "_run_operation", _pass_app(cut.find_caller)),
        "body, turn, answer's head": (http, "_answer_caller", _pass_app(cut.receive)),
        "document, limits, cost": (http, "_answer_caller", _pass_app(cut.prepare)),
        "context, rate": (GraphQLEngine, "run", _pass_app(cut.run)),
        "execution, JSON": None,
    }


def _ignore_app(answer: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def method(_self: Any, *given: Any) -> None:
        await answer(*given)

    return method


def _pass_app(answer: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def method(self: Any, *given: Any) -> Any:
        return await answer(self, *given)

    return method


class _Variant:
    """One variant of the application: its cut, its function that asks, and the times of turns."""

    def __init__(self, ask: Ask, cut: Cut | None) -> None:
        self._ask = ask
        self._cut = cut
        self.times: list[float] = []

    async def measure(self, count: int) -> None:
        with ExitStack() as stack:
            if self._cut is not None:
                stack.enter_context(patch.object(*self._cut))
            started = process_time()
            for _ in range(count):
                await self._ask()
        self.times.append((process_time() - started) / (count * CONNECTIONS))

    def add_to(self, before: Self | None) -> float:
        """The seconds that this variant takes beyond the one before it."""
        if before is None:
            return median(self.times)
        both = zip(self.times, before.times, strict=True)
        return max(0.0, median(own - other for own, other in both))


async def measure_shape(shape: Shape, turns: int) -> dict[str, float]:
    """The seconds that each stage adds, that of all together, and that by hand."""
    async with AsyncExitStack() as stack:
        quiet = await stack.enter_async_context(open_connections(shape, quiet=True))
        cuts = _cuts(_usual_answer(shape))
        variants = {name: _Variant(quiet, cut) for name, cut in cuts.items()}
        variants |= await _open_whole(shape, stack)
        await _take_turns(list(variants.values()), turns)
    by_hand, added, before = variants.pop(BY_HAND), {}, None
    for name, one in variants.items():
        added["log, metrics" if name == WHOLE else name] = one.add_to(before)
        before = one
    return {**added, WHOLE: median(variants[WHOLE].times), BY_HAND: median(by_hand.times)}


async def measure_whole(shape: Shape, turns: int) -> dict[str, float]:
    """The least seconds of a request in the whole application, and by hand."""
    async with AsyncExitStack() as stack:
        variants = await _open_whole(shape, stack)
        await _take_turns(list(variants.values()), turns)
    return {name: min(one.times) for name, one in variants.items()}


async def _open_whole(shape: Shape, stack: AsyncExitStack) -> dict[str, _Variant]:
    whole = await stack.enter_async_context(open_connections(shape, quiet=False))
    by_hand = await stack.enter_async_context(open_handwritten(shape))
    return {WHOLE: _Variant(whole, None), BY_HAND: _Variant(by_hand, None)}


async def _take_turns(variants: Sequence[_Variant], turns: int) -> None:
    for one in variants:
        await one.measure(_WARM_UP)
        one.times.clear()
    for _ in range(turns):
        for one in variants:
            await one.measure(_TURN)


def _usual_answer(shape: Shape) -> bytes:
    """An answer of this shape whose length is the middle of several."""
    answers = ReferenceAnswers(make_data())
    found = [
        answers.answer(one.document, one.variables) for one in draw_calls(shape.name, _SAMPLED)
    ]
    return sorted(map(orjson.dumps, found), key=len)[_SAMPLED // 2]


def table(found: dict[str, dict[str, float]]) -> str:
    lines = ["| µs | " + " | ".join(found) + " |", "|---|" + "--:|" * len(found)]
    for stage in next(iter(found.values())):
        cells = [f"{one[stage] * 1e6:.1f}" for one in found.values()]
        lines.append(f"| {stage} | {' | '.join(cells)} |")
    return "\n".join(lines)


async def _measure_all(turns: int) -> dict[str, dict[str, float]]:
    return {shape.title: await measure_shape(shape, turns) for shape in SHAPES}


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.request_stages", description=__doc__)
    parser.add_argument("--turns", type=int, default=40)
    add_write_option(parser)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        text = table(runner.run(_measure_all(options.turns)))
    show_tables({MARK: below_machine(text)}, options.write)


if __name__ == "__main__":
    main()
