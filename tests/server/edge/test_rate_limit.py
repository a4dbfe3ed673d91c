"""The rate limit of a caller, the delay beyond it, and the answers."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import RateLimited
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import Runtime, open_app
from penstock.server.app_options import open_rate_limiter, streams_of
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.edge.rate_limit import LocalBuckets, RateLimiter
from penstock.server.settings.settings import Settings
from tests.datastore.access.many_groups import plant_groups
from tests.server.auth.signed_tokens import bearer
from tests.support.error_details import extensions_of


class Bucket:
    """A limiter with a clock that the test moves."""

    def __init__(self, per_second: float = 10, burst: int = 100, callers: int = 10) -> None:
        self.now = 1000.0
        self.own = LocalBuckets(callers)
        self.limiter = RateLimiter(per_second, burst, self.own, clock=lambda: self.now)

    def wait_of(self, cost: int, user: str = "ann") -> int:
        """Spend; returns the seconds to wait after a refusal, else 0."""
        try:
            self.limiter.spend(user, cost)
        except RateLimited as refused:
            return refused.retry_after
        return 0


def test_a_burst_is_spent_and_comes_back_with_time() -> None:
    bucket = Bucket()
    assert [bucket.wait_of(cost) for cost in (60, 40, 1)] == [0, 0, 1]
    bucket.now += 0.5
    assert [bucket.wait_of(cost) for cost in (6, 5, 1)] == [1, 0, 1]
    bucket.now += 1000
    assert [bucket.wait_of(cost) for cost in (100, 1)] == [0, 1]


def test_the_wait_is_what_is_missing_in_whole_seconds() -> None:
    bucket = Bucket()
    assert bucket.wait_of(100) == 0
    assert [bucket.wait_of(cost) for cost in (1, 10, 11, 100)] == [1, 1, 2, 10]
    bucket.now += 2
    assert [bucket.wait_of(cost) for cost in (21, 20)] == [1, 0]


def test_a_refused_operation_spends_nothing() -> None:
    bucket = Bucket()
    assert bucket.wait_of(95) == 0
    assert [bucket.wait_of(6) for _ in range(50)] == [1] * 50
    assert bucket.wait_of(5) == 0


def test_an_operation_that_reads_nothing_costs_one() -> None:
    bucket = Bucket(burst=3)
    assert [bucket.wait_of(0) for _ in range(4)] == [0, 0, 0, 1]


def test_what_costs_more_than_the_burst_runs_when_all_is_there_and_is_paid_off() -> None:
    bucket = Bucket()
    assert bucket.wait_of(150) == 0
    assert bucket.wait_of(1) == 6
    assert bucket.wait_of(150) == 15
    bucket.now += 15
    assert bucket.wait_of(150) == 0


def test_callers_do_not_share() -> None:
    bucket = Bucket()
    assert [bucket.wait_of(100, user) for user in ("ann", "bob", "ann")] == [0, 0, 10]


def test_more_work_of_an_operation_goes_into_debt_once() -> None:
    bucket = Bucket()
    assert bucket.wait_of(100) == 0
    bucket.limiter.spend_more("ann", 30)
    with pytest.raises(RateLimited) as refused:
        bucket.limiter.spend_more("ann", 1)
    assert refused.value.retry_after == 3
    bucket.now += 2
    with pytest.raises(RateLimited):
        bucket.limiter.spend_more("ann", 1)
    bucket.now += 1
    bucket.limiter.spend_more("ann", 10_000)
    assert bucket.wait_of(1) == 1001


def test_what_is_owed_is_taken_in_any_case() -> None:
    bucket = Bucket()
    for _ in range(3):
        bucket.limiter.owe("ann", 100)
    assert bucket.wait_of(1) == 21


def test_zero_a_second_limits_nobody() -> None:
    bucket = Bucket(per_second=0, burst=1)
    assert {bucket.wait_of(10**9) for _ in range(100)} == {0}
    bucket.limiter.owe("ann", 10**9)
    bucket.limiter.spend_more("ann", 10**9)


def test_the_caller_who_asked_least_recently_is_forgotten_first() -> None:
    bucket = Bucket(callers=2)
    for user in ("ann", "bob"):
        assert bucket.wait_of(100, user) == 0
    assert bucket.wait_of(1, "ann") == 1
    assert bucket.wait_of(1, "cat") == 0
    assert len(bucket.own._known) == 2
    assert bucket.wait_of(1, "ann") == 1
    assert bucket.wait_of(100, "bob") == 0


STEPS = st.lists(st.tuples(st.floats(0, 20), st.integers(0, 150)), max_size=30)


@given(STEPS, st.floats(0.01, 50), st.integers(1, 100))
def test_over_any_time_no_more_is_spent_than_the_burst_and_what_came_in(
    steps: list[tuple[float, int]], per_second: float, burst: int
) -> None:
    bucket = Bucket(per_second, burst)
    spent: list[tuple[float, int]] = []
    for pause, cost in steps:
        bucket.now += pause
        if bucket.wait_of(cost) == 0:
            spent.append((bucket.now, max(cost, 1)))
    for n, (start, _) in enumerate(spent):
        for m in range(n, len(spent)):
            total = sum(cost for _, cost in spent[n : m + 1])
            *_, (end, last) = spent[: m + 1]
            debt = max(last - burst, 0)
            assert total <= burst + debt + (end - start) * per_second + 1e-3


@given(STEPS, st.floats(0.01, 50), st.integers(1, 100), st.integers(0, 150))
def test_who_waits_as_told_is_let_in_and_a_second_less_is_too_early(
    steps: list[tuple[float, int]], per_second: float, burst: int, cost: int
) -> None:
    bucket = Bucket(per_second, burst)
    for pause, before in steps:
        bucket.now += pause
        bucket.wait_of(before)
    wait = bucket.wait_of(cost)
    if wait == 0:
        return
    bucket.now += wait - 1
    assert wait == 1 or bucket.wait_of(cost) == 1
    bucket.now += 1
    assert bucket.wait_of(cost) == 0


class Api:
    """The whole application, with requests of one user after the other."""

    def __init__(self, http: httpx.AsyncClient, settings: Settings) -> None:
        self._http = http
        self._key = dev_key(settings.data_dir)

    async def __call__(self, query: str, user: str = "ann", **variables: Any) -> httpx.Response:
        token = sign_dev_token(self._key, user, {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
        return await self.by(token, query, **variables)

    async def learn(self, query: str) -> None:
        """Let another caller pay for reading a document, which then stays in the cache."""
        assert (await self(query, "teacher of " + query[:50])).status_code == 429

    async def by(self, token: str, query: str, **variables: Any) -> httpx.Response:
        body = {"query": query, "variables": variables}
        return await self._http.post("/graphql", json=body, headers=bearer(token))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    # An interpreted operation has no plan, for which its caller would pay too.
    small = {"rate_limit_per_second": 0.01, "rate_limit_burst": 10, "executor": "reference"}
    return Settings.load(data_dir=tmp_path, **small)


@pytest.fixture
def limiter(settings: Settings) -> RateLimiter:
    """The limiter that the background work of the server charges."""
    return open_rate_limiter(settings, None)


@pytest.fixture
async def api(store: Store, settings: Settings, limiter: RateLimiter) -> AsyncIterator[Api]:
    runtime = Runtime(streams_of(settings), limiter=limiter)
    async with open_app(settings, store, None, runtime) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            yield Api(http, settings)


def assert_limited(answer: httpx.Response, seconds: int) -> None:
    assert (answer.status_code, answer.headers["retry-after"]) == (429, str(seconds))
    message = f"You used up your rate limit; try again in {seconds} s."
    request = answer.headers["x-request-id"]
    extensions = extensions_of("RATE_LIMITED", request, retryAfter=seconds)
    assert answer.json() == {"errors": [{"message": message, "extensions": extensions}]}


async def test_a_caller_beyond_their_share_is_told_when_to_come_back(api: Api) -> None:
    await api.learn("{ __typename }")
    for _ in range(10):
        assert (await api("{ __typename }")).json() == {"data": {"__typename": "Query"}}
    assert_limited(await api("{ __typename }"), 100)
    assert (await api("{ __typename }", "bob")).status_code == 200


async def test_each_field_of_a_mutation_is_counted_and_a_refused_one_does_nothing(api: Api) -> None:
    def groups(*names: str) -> str:
        fields = (f'{n}: createGroup(input: {{path: "/{n}"}}) {{ __typename }}' for n in names)
        return f"mutation {{ {' '.join(fields)} }}"

    for names in ("abcdefgh", "xyz"):
        await api.learn(groups(*names))
    made: dict[str, Any] = (await api(groups(*"abcdefgh"))).json()["data"]
    assert made == {name: {"__typename": "CreateGroupPayload"} for name in "abcdefgh"}
    # Of 10 units the fields took 8 before, and owe 2 each for the rows of a group.
    assert_limited(await api(groups("x", "y", "z")), 1_700)
    look = '{ x: group(path: "/x") { path } a: group(path: "/a") { path } }'
    await api.learn(look)
    found = await api(look, "bob")
    assert found.json()["data"] == {"x": None, "a": {"path": "/a"}}


async def test_a_page_is_counted_by_its_size(api: Api) -> None:
    page = "{ pipelines(first: 9) { nodes { name } } }"
    await api.learn(page)
    assert (await api(page)).status_code == 200
    assert_limited(await api(page), 800)


async def test_a_key_spends_what_its_user_has(api: Api) -> None:
    soon = iso_timestamp(datetime.now(UTC) + DEV_TOKEN_LIFETIME)
    create = (
        'mutation { createApiKey(input: {name: "k", roles: [{group: "/", role: READER}], '
        f'expiresAt: "{soon}"}}) {{ ...on CreateApiKeyPayload {{ secret }} }} }}'
    )
    for query in (create, "{ __typename }"):
        await api.learn(query)
    made = await api(create)
    secret = made.json()["data"]["createApiKey"]["secret"]
    # The operation took one unit, and owes three for the rows of a key.
    for _ in range(6):
        assert (await api.by(secret, "{ __typename }")).status_code == 200
    assert_limited(await api.by(secret, "{ __typename }"), 100)
    assert_limited(await api("{ __typename }"), 100)


SAVE = """mutation($a: CreatePipelineInput!, $b: CreatePipelineInput!) {
  a: createPipeline(input: $a) { __typename }
  b: createPipeline(input: $b) { __typename } }"""


def costly_pipeline(name: str) -> dict[str, Any]:
    text = "+".join([":x"] * 800)
    output = {"index": 0, "type": "NUMBER"}
    return {
        "group": "/",
        "name": name,
        "transformer": {
            "parameters": [{"index": 0, "key": "x", "type": "NUMBER", "required": True}],
            "transforms": [{"index": n, "formula": text, "outputs": [output]} for n in range(20)],
        },
    }


async def test_many_long_formulas_use_up_the_limit_and_the_next_save_changes_nothing(
    store: Store, tmp_path: Path
) -> None:
    settings = Settings.load(data_dir=tmp_path, rate_limit_per_second=1, rate_limit_burst=10_000)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            api = Api(http, settings)
            answer = await api(SAVE, a=costly_pipeline("a"), b=costly_pipeline("b"))
            assert int(answer.headers["retry-after"]) > 600
            (refused,) = answer.json()["errors"]
            assert refused["path"] == ["b"]
            assert refused["extensions"]["code"] == "RATE_LIMITED"
            assert refused["extensions"]["retryAfter"] > 600
            again = await api("{ __typename }")
            assert (again.status_code, int(again.headers["retry-after"]) > 600) == (429, True)
            seen = await api("{ pipelines { nodes { name } } }", "bob")
            assert seen.json()["data"]["pipelines"]["nodes"] == [{"name": "a"}]


ONE_OF_MANY_GROUPS = """executions(group: "/usa", includeChildGroups: true, first: 1) {
  nodes { id } }"""


async def test_lists_of_many_groups_use_up_the_limit_although_their_page_is_small(
    store: Store, tmp_path: Path
) -> None:
    settings = Settings.load(data_dir=tmp_path, rate_limit_per_second=1, rate_limit_burst=2_000)
    await plant_groups(store, 100)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            api = Api(http, settings)
            fields = " ".join(f"n{n}: {ONE_OF_MANY_GROUPS}" for n in range(30))
            answer = (await api(f"{{ {fields} }}")).json()
            codes = {error["extensions"]["code"] for error in answer["errors"]}
            assert codes == {"RATE_LIMITED"}
            assert (await api("{ __typename }")).status_code == 429
            assert (await api(f"{{ {ONE_OF_MANY_GROUPS} }}", "carl")).status_code == 200


async def test_what_workers_took_for_a_caller_is_owed_for_requests_too(
    api: Api, limiter: RateLimiter
) -> None:
    await api.learn("{ __typename }")
    assert (await api("{ __typename }")).status_code == 200
    limiter.owe("ann", 19)
    assert_limited(await api("{ __typename }"), 1_100)
    assert (await api("{ __typename }", "bob")).status_code == 200
