"""`GET /ngsi/chart`: points of series as rows of JSON, for Grafana's Infinity data source."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec
from starlette.datastructures import Headers, QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.datastore.errors import (
    BadArgument,
    LimitExceeded,
    NotFound,
    PenstockError,
    Unavailable,
)
from penstock.datastore.ngsi.directory import Attribute, Directory, Entity
from penstock.datastore.ngsi.event_times import read_time
from penstock.datastore.ngsi.notification import check_path
from penstock.datastore.ngsi.reading.charts import MAX_POINTS
from penstock.datastore.ngsi.reading.downsampling import MIN_POINTS, Downsampling
from penstock.datastore.ngsi.reading.series import TimeSpan, moment_of
from penstock.datastore.ngsi.repository import IngestRepository
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.schema.engine.limits import Limits
from penstock.server.connections.request_watcher import current_request
from penstock.server.core.headers import MediaType, request_headers, request_id_of
from penstock.server.edge.caller_turn import CallerTurn
from penstock.server.edge.rate_limit import CallerAccount, CallerLimits
from penstock.server.edge.response import HttpProblem, internal_problem, refusal_problem

PATH: Final = "/ngsi/chart"
COST: Final = 20
"""The cost of a chart, beyond that of the samples that it reads."""

ROWS: Final = 10
"""Rows of the answer in one unit more."""

MAX_ENTITIES: Final = 20
MAX_SERIES: Final = 50
MAX_TEXT: Final = 600
DEFAULT_POINTS: Final = 500

_PARAMETERS: Final = frozenset(
    ("service", "path", "entity", "type", "attribute", "from", "to", "points", "method")
)
_LAST_MS: Final = 253_402_300_799_999
_DIGITS: Final = 15
_PRIVATE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_encode: Final = msgspec.json.Encoder(decimal_format="number").encode


class ChartRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A point of a chart; `time` is in milliseconds since 1970.

    It is rounded to `resolution` seconds where the point was chosen from kept minutes or hours.
    """

    time: int
    entity: str
    attribute: str
    value: Decimal
    resolution: int = 0


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """The series of a chart, and how many points each of them has.

    Without `entity`, it is about the first entities of the path, of one `type` if that is given.
    """

    service: str
    path: str
    entity: str | None
    type: str | None
    attributes: tuple[str, ...]
    span: TimeSpan
    points: int
    method: Downsampling


@dataclass(frozen=True, slots=True)
class SensorCharts:
    """Answers requests for charts, within the roles, turns and allowance of their callers."""

    store: Store
    authenticate: Callable[[Headers], Awaitable[Caller]]
    callers: CallerLimits
    limits: Limits

    def route(self) -> Route:
        return Route(PATH, self._answer, methods=["GET"])

    async def _answer(self, request: Request) -> Response:
        current_request.get().ends_with_client = True
        try:
            async with asyncio.timeout(self.limits.deadline_seconds):
                return await self._draw_chart(request)
        except PenstockError as error:
            problem = _problem_of(error, request.headers)
        except TimeoutError:
            late = Unavailable("The chart could not be read in time.")
            problem = _problem_of(late, request.headers)
        except Exception as error:
            problem = internal_problem(error, request_id_of(request_headers(request.scope)))
        body = problem.describe(request_id_of(request_headers(request.scope)))
        headers = {**_PRIVATE, **problem.headers}
        return Response(_encode(body), problem.status, headers, MediaType.JSON.header)

    async def _draw_chart(self, request: Request) -> Response:
        caller = await self.authenticate(request_headers(request.scope))
        self.callers.rate.spend(caller.user_id, COST)
        size = len(request.scope["query_string"])
        if size > self.limits.url_bytes:
            raise LimitExceeded("bytes of the URL", self.limits.url_bytes, size)
        wanted = read_chart_request(request.query_params)
        account = CallerAccount(self.callers, caller.user_id, COST)
        async with CallerTurn(self.callers.running, caller.user_id) as turn:
            notified = self.store.open_session(caller, account).notifications
            rows = await read_chart(notified, wanted, caller.user_id)
            account.owe(len(rows) // ROWS)
            answer = Response(_encode(rows), 200, _PRIVATE, MediaType.JSON.header)
            return turn.keep_for(answer)


def _problem_of(error: PenstockError, headers: Headers) -> HttpProblem:
    problem = refusal_problem(error, with_token="authorization" in headers)
    if isinstance(error, NotFound):
        problem.status = 404
    return problem


def read_chart_request(given: QueryParams) -> ChartRequest:
    """Read the parameters of a chart; raises BadArgument."""
    if unknown := sorted(set(given) - _PARAMETERS):
        raise BadArgument(f"There is no parameter {unknown[0][:50]!r}.")
    if any(len(value) > MAX_TEXT for _, value in given.multi_items()):
        raise BadArgument(f"A parameter is longer than {MAX_TEXT} characters.")
    attributes = tuple(dict.fromkeys(given.getlist("attribute")))
    if "service" not in given or not attributes:
        raise BadArgument("Give `service`, and `attribute` once or more.")
    span = TimeSpan(*(_read_moment(given, name) for name in ("from", "to")))
    return ChartRequest(
        given["service"],
        check_path(given.get("path", "/")),
        given.get("entity"),
        given.get("type"),
        attributes,
        span,
        _read_points(given.get("points")),
        _read_method(given.get("method", Downsampling.LTTB)),
    )


async def read_chart(notified: IngestRepository, wanted: ChartRequest, user: str) -> list[ChartRow]:
    """Read the rows of a chart for a user, series after series; raises NotFound, LimitExceeded."""
    rows: list[ChartRow] = []
    for series in await _find_series(notified.directory, wanted):
        points, resolution = await notified.chart_points.read(
            series, wanted.span, wanted.points, wanted.method, user
        )
        rows += [
            ChartRow(at, series.entity.entity_id, series.name, number, resolution)
            for at, number in points
        ]
    return rows


async def _find_series(directory: Directory, wanted: ChartRequest) -> list[Attribute]:
    """Find the series of a chart, in few calls; attributes that an entity lacks are left out."""
    path = await directory.path(wanted.service, wanted.path)
    if wanted.entity is None:
        page = await directory.entities(path, Window(size=MAX_ENTITIES), "", wanted.type)
        entities: Sequence[Entity] = [entity for _, entity in page.entries]
    else:
        found = await directory.entity(path, wanted.entity, wanted.type or "")
        if found is None:
            raise NotFound("There is no such entity.", ("entity",))
        entities = [found]
    count = len(entities) * len(wanted.attributes)
    if count > MAX_SERIES:
        raise LimitExceeded("series of a chart", MAX_SERIES, count)
    if count * wanted.points > MAX_POINTS:
        raise LimitExceeded("points of a chart", MAX_POINTS, count * wanted.points)
    keys = [(entity, name) for entity in entities for name in wanted.attributes]
    known = await directory.named_attributes(keys) if keys else []
    return [each for each in known if isinstance(each, Attribute)]


def _read_moment(given: Mapping[str, str], name: str) -> datetime | None:
    """Read a time of ISO 8601, or milliseconds since 1970 as Grafana writes them."""
    text = given.get(name)
    if text is None:
        return None
    is_number = text.isdecimal() and text.isascii() and len(text) <= _DIGITS
    at = int(text) if is_number else read_time(text)
    if at is None or at > _LAST_MS:
        raise BadArgument(f"`{name}` is neither a time of ISO 8601 nor milliseconds since 1970.")
    return moment_of(at)


def _read_points(text: str | None) -> int:
    if text is None:
        return DEFAULT_POINTS
    points = int(text) if text.isdecimal() and text.isascii() and len(text) <= _DIGITS else 0
    if not MIN_POINTS <= points <= MAX_POINTS:
        raise BadArgument(f"`points` is {MIN_POINTS} to {MAX_POINTS}.")
    return points


def _read_method(text: str) -> Downsampling:
    try:
        return Downsampling(text)
    except ValueError:
        raise BadArgument(f"`method` is one of {', '.join(Downsampling)}.") from None
