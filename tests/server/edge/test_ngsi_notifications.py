"""`POST /notify` and `/v2/notify`: the permissions, and every answer."""

import asyncio
import gzip
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from httpx import ASGITransport, AsyncClient, Response

from penstock.datastore.access.cursor_key import read_cursor_key
from penstock.datastore.access.work import NOTIFIED_BYTES, STORED_SAMPLES
from penstock.datastore.clock import iso_timestamp, wall_clock
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.options import Ack, SinkOptions
from penstock.datastore.ngsi.reading.series import milliseconds_of
from penstock.datastore.records import GroupRole
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.port import Table
from penstock.server.app import Runtime, open_app
from penstock.server.app_options import streams_of
from penstock.server.auth.claims import roles_from
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.edge.ngsi_notifications import NotifyApp
from penstock.server.runtime.stores import build_store
from penstock.server.settings.settings import Settings
from tests.datastore.ngsi.failing_destinations import FaultInjector
from tests.datastore.ngsi.linked_data.broker_notifications import NOTIFICATIONS, BrokerNotification
from tests.datastore.ngsi.linked_data.sample_signs import V2_BODIES
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car, open_world
from tests.support.error_details import extensions_of
from tests.support.patience import until
from tests.support.stores import open_table

HEADERS = {
    "content-type": "application/json; charset=utf-8",
    "fiware-service": "vehicles",
    "fiware-servicepath": "/4wheels",
    "ngsiv2-attrsformat": "normalized",
}
DOCUMENTED = """{"subscriptionId": "s", "contextResponses": [{"contextElement": {"id": "car1",
  "type": "car", "isPattern": "false", "attributes": [
    {"name": "speed", "type": "float", "value": 112.9},
    {"name": "oil_level", "type": "float", "value": 74.6}]}, "statusCode": {"code": "200"}}]}"""


@dataclass(frozen=True, slots=True)
class NotifyClient:
    """A client of the application, and the world of its sink."""

    client: AsyncClient
    world: SinkWorld
    data_dir: Path

    def bearer(self, *roles: str, user: str = "orion") -> str:
        key, held = dev_key(self.data_dir), roles_from(list(roles))
        return f"Bearer {sign_dev_token(key, user, held, None, DEV_TOKEN_LIFETIME)}"

    async def send(
        self, body: Any = None, *roles: str, path: str = "/v2/notify", **headers: str | None
    ) -> Response:
        sent = {"authorization": self.bearer(*(roles or ("/vehicles=contributor",)))} | HEADERS
        for name, value in headers.items():
            sent.pop(name.replace("_", "-"), None)
            if value is not None:
                sent[name.replace("_", "-")] = value
        default = {"subscriptionId": "s", "data": [car("car1")]}
        text = body if isinstance(body, str | bytes) else json.dumps(body or default)
        return await self.client.post(path, content=text, headers=sent)

    async def refusal(self, status: int, code: str, body: Any = None, **sent: Any) -> str:
        """Return the message of a refusal, after checking that it changed nothing."""
        before = await self.world.counts()
        answer = await self.send(body, **sent)
        assert answer.status_code == status, answer.text
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == code
        assert await self.world.counts() == before
        message: str = error["message"]
        return message


@asynccontextmanager
async def open_notify_client(
    table: Table, tmp_path: Path, options: SinkOptions = QUICK, **settings: Any
) -> AsyncIterator[NotifyClient]:
    chosen = Settings.load(data_dir=tmp_path / "data", **settings)
    async with (
        open_destinations("sqlite", tmp_path) as destinations,
        open_world(table, destinations, tmp_path) as world,
        world.open_sink(options) as sink,
        open_app(
            chosen, build_store(table, chosen), None, Runtime(streams_of(chosen), sink)
        ) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield NotifyClient(client, world, chosen.data_dir)


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    async with open_table("sqlite", tmp_path) as opened:
        yield opened


@pytest.fixture
async def notified(table: Table, tmp_path: Path) -> AsyncIterator[NotifyClient]:
    async with open_notify_client(table, tmp_path) as opened:
        yield opened


@pytest.mark.parametrize("path", ["/notify", "/v2/notify"])
async def test_a_notification_is_kept_and_answered_with_nothing(
    notified: NotifyClient, path: str
) -> None:
    answer = await notified.send(path=path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["x-request-id"]
    assert await notified.world.recount() == IngestCounts(received=1, persisted=1, items=2)


async def test_the_documents_example_gives_the_documented_rows(notified: NotifyClient) -> None:
    answer = await notified.send(DOCUMENTED, ngsiv2_attrsformat=None)
    assert answer.status_code == 200
    await notified.world.wait_until_settled()
    speed = next(
        each for each in await notified.world.read_samples() if each["attrName"] == "speed"
    )
    assert {name: speed[name] for name in ("fiwareServicePath", "entityId", "entityType")} == {
        "fiwareServicePath": "/4wheels",
        "entityId": "car1",
        "entityType": "car",
    }
    assert (speed["attrType"], speed["attrValue"], speed["attrMd"]) == ("float", "112.9", "[]")


async def test_what_is_sent_again_is_acknowledged_and_stored_once(notified: NotifyClient) -> None:
    for _ in range(2):
        answer = await notified.send(fiware_correlator="c; cbnotif=1")
        assert (answer.status_code, answer.content) == (200, b"")
    counts = IngestCounts(received=2, persisted=1, duplicates=1, items=2)
    assert await notified.world.recount() == counts


async def test_poison_beside_others_is_told_and_kept_as_a_letter(notified: NotifyClient) -> None:
    answer = await notified.send({"data": [car("car1"), {"type": "car"}]})
    assert answer.status_code == 200
    assert answer.json() == {
        "accepted": 1,
        "errors": [
            {
                "message": "The entity's id is missing or not a text.",
                "extensions": extensions_of(
                    "BAD_USER_INPUT", answer.headers["x-request-id"], index=1
                ),
            }
        ],
    }
    expected = IngestCounts(received=2, persisted=1, dead_lettered=1, items=2)
    assert await notified.world.recount() == expected


async def test_nothing_but_poison_is_refused_and_kept_as_a_letter(notified: NotifyClient) -> None:
    answer = await notified.send({"data": [{}]})
    assert answer.status_code == 400
    assert (answer.json()["accepted"], len(answer.json()["errors"])) == (0, 1)
    assert await notified.world.recount() == IngestCounts(received=1, dead_lettered=1)


@pytest.mark.parametrize(
    ("entities", "status", "accepted"), [([{}], 400, 0), ([{}, car("car1")], 200, 1)]
)
async def test_what_was_refused_is_told_again_to_who_sends_it_again(
    entities: list[Any], status: int, accepted: int, notified: NotifyClient
) -> None:
    for _ in range(2):
        answer = await notified.send({"data": entities}, fiware_correlator="c")
        assert (answer.status_code, answer.json()["accepted"]) == (status, accepted)
        assert [one["extensions"]["index"] for one in answer.json()["errors"]] == [0]
    counts = await notified.world.recount()
    assert (counts.dead_lettered, counts.persisted) == (1, accepted)
    assert counts.duplicates == len(entities)


async def test_a_queued_notification_is_answered_202(table: Table, tmp_path: Path) -> None:
    async with open_notify_client(table, tmp_path, replace(QUICK, ack=Ack.QUEUED)) as notified:
        answer = await notified.send()
        assert (answer.status_code, answer.content) == (202, b"")

        async def is_persisted() -> bool:
            return (await notified.world.counts()).persisted == 1

        await until(is_persisted)
        assert (await notified.world.recount()).persisted == 1


async def test_a_full_sink_says_when_to_come_again(table: Table, tmp_path: Path) -> None:
    slow = replace(QUICK.batching, size=100, timeout=1000.0)
    async with open_notify_client(
        table, tmp_path, replace(QUICK, batching=slow, max_pending=1)
    ) as notified:
        assert (await notified.send()).status_code == 200
        answer = await notified.send()
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert answer.json()["errors"][0]["extensions"]["code"] == "SERVICE_UNAVAILABLE"
        assert (await notified.world.counts()).received == 1


async def test_a_store_that_fails_is_said_to_fail(table: Table, tmp_path: Path) -> None:
    await read_cursor_key(table)  # The server was started once.
    broken: Any = FaultInjector(table, random.Random(0), 2.0, "transact")
    async with open_notify_client(broken, tmp_path) as notified:
        answer = await notified.send()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


async def test_a_cancel_inside_is_not_taken_for_the_end_of_the_server(
    notified: NotifyClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def await_cancelled(*_request: object) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(NotifyApp, "_accept_notification", await_cancelled)
    assert await notified.refusal(500, "INTERNAL_SERVER_ERROR") == "Internal error"
    assert "CancelledError" in caplog.text


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_other_methods_are_not_allowed(notified: NotifyClient, method: str) -> None:
    answer = await notified.client.request(method, "/notify")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["errors"][0]["extensions"]["code"] == "METHOD_NOT_ALLOWED"


@pytest.mark.parametrize(
    ("status", "code", "sent"),
    [
        (401, "UNAUTHENTICATED", {"authorization": None}),
        (401, "UNAUTHENTICATED", {"authorization": "Bearer penstock_1_2"}),
        (400, "BAD_USER_INPUT", {"fiware_service": "a/b"}),
        (400, "BAD_USER_INPUT", {"fiware_service": ".."}),
        (400, "BAD_USER_INPUT", {"fiware_servicepath": "4wheels"}),
        (400, "BAD_USER_INPUT", {"fiware_servicepath": "/../zoo"}),
        (400, "BAD_USER_INPUT", {"fiware_servicepath": "/4wheels/./zoo"}),
        (400, "BAD_USER_INPUT", {"ngsiv2_attrsformat": "values"}),
        (415, "UNSUPPORTED_MEDIA_TYPE", {"content_type": "text/plain"}),
        (415, "UNSUPPORTED_MEDIA_TYPE", {"content_type": "application/json; charset=latin-1"}),
        (415, "UNSUPPORTED_MEDIA_TYPE", {"content_type": None}),
        (400, "BAD_USER_INPUT", {"body": "{"}),
        (400, "BAD_USER_INPUT", {"body": " "}),
        (400, "BAD_USER_INPUT", {"body": {"data": []}}),
        (400, "LIMIT_EXCEEDED", {"body": {"data": [{"id": "a"}] * 1001}}),
        (413, "PAYLOAD_TOO_LARGE", {"body": " " * 1_000_001}),
    ],
)
async def test_what_is_no_notification_is_refused_and_changes_nothing(
    notified: NotifyClient, status: int, code: str, sent: dict[str, Any]
) -> None:
    assert await notified.refusal(status, code, **sent)


ORION: Final = BrokerNotification(
    "telefonicaid/fiware-orion doc/manuals/user/walkthrough_apiv2.md",
    {
        "content-type": "application/json; charset=utf-8",
        "user-agent": "orion/3.8.0 libcurl/7.74.0",
        "fiware-servicepath": "/",
        "fiware-correlator": "3451e5c2-226d-11e6-aba2-000c29173617",
        "ngsiv2-attrsformat": "normalized",
    },
    {
        "data": [
            {
                "id": "Room1",
                "temperature": {"metadata": {}, "type": "Float", "value": 28.5},
                "type": "Room",
            }
        ],
        "subscriptionId": "57458eb60962ef754e7c0998",
    },
    (EntityUpdate("Room1", "Room", (NotifiedAttribute("temperature", "Float", 28.5),)),),
)
BROKERS: Final = {"Orion": ORION, **NOTIFICATIONS}


def time_told(attribute: NotifiedAttribute) -> int | None:
    """The time of the event in milliseconds that a notification tells of an attribute."""
    told = [each.value for each in attribute.metadata if each.name == "observedAt"]
    return milliseconds_of(datetime.fromisoformat(told[0])) if told else None


@pytest.mark.parametrize("sent", BROKERS.values(), ids=BROKERS)
async def test_a_notification_of_each_broker_becomes_samples_of_its_tenant_time_and_type(
    notified: NotifyClient, sent: BrokerNotification
) -> None:
    group = f"/{sent.service}=contributor"
    answer = await notified.client.post(
        "/v2/notify",
        json=sent.body,
        headers={"authorization": notified.bearer(group), **sent.headers},
    )
    assert (answer.status_code, answer.content) == (200, b"")
    at = (sent.service, "/")
    items = sum(len(update.attributes) for update in sent.updates)
    assert await notified.world.recount(at) == IngestCounts(
        received=len(sent.updates), persisted=len(sent.updates), items=items
    )
    stored = {}
    for item in await notified.world.read_samples(at):
        time = int(str(item["sk"]).partition(":")[0])
        of = (item["entityId"], item["entityType"], item["attrName"], item["attrType"])
        stored[of] = None if time == item["recvTimeTs"] else time
    assert stored == {
        (update.entity_id, update.entity_type, each.name, each.type): time_told(each)
        for update in sent.updates
        for each in update.attributes
    }
    known = {name.partition(",")[0] for name in BROKERS}
    assert known >= {"Orion", "Orion-LD", "Scorpio", "Stellio"}


@pytest.mark.parametrize("role", ["/t1=admin", "/default=admin", "/ngsild:t2=admin"])
async def test_a_tenant_is_closed_to_the_roles_of_services(
    notified: NotifyClient, role: str
) -> None:
    answer = await notified.send(
        None, role, fiware_service=None, fiware_servicepath=None, ngsild_tenant="t1"
    )
    assert answer.status_code == 404
    for service in ("t1", "ngsild:t1", "default"):
        assert (await notified.world.counts((service, "/"))).received == 0


async def test_a_second_tenant_in_the_headers_is_refused(notified: NotifyClient) -> None:
    fields = [("content-type", "application/json"), ("authorization", notified.bearer("/=admin"))]
    fields += [("ngsild-tenant", "t1"), ("ngsild-tenant", "t2")]
    body = json.dumps({"data": [car("car1")]})
    answer = await notified.client.post("/v2/notify", content=body, headers=fields)
    assert answer.status_code == 400
    assert (await notified.world.counts(("ngsild:t1", "/"), ("ngsild:t2", "/"))).received == 0


async def test_a_setting_makes_a_tenant_the_service_of_its_name(
    table: Table, tmp_path: Path
) -> None:
    async with open_notify_client(table, tmp_path, ngsi_ld_tenants="services") as notified:
        answer = await notified.send(fiware_service=None, ngsild_tenant="vehicles")
        assert answer.status_code == 200
        assert (await notified.world.recount()).persisted == 1


async def test_a_packed_notification_is_unpacked(notified: NotifyClient) -> None:
    body = gzip.compress(json.dumps({"data": [car("car1")]}).encode())
    assert (await notified.send(body, content_encoding="gzip")).status_code == 200
    assert (await notified.send(content_encoding="identity")).status_code == 200
    assert (await notified.world.recount()).persisted == 2


PACKED = gzip.compress(json.dumps({"data": [car("car1")]}).encode(), mtime=0)


@pytest.mark.parametrize(
    ("status", "code", "body", "encoding"),
    [
        (415, "UNSUPPORTED_MEDIA_TYPE", PACKED, "br"),
        (415, "UNSUPPORTED_MEDIA_TYPE", PACKED, "gzip, gzip"),
        (400, "BAD_USER_INPUT", PACKED, None),
        (400, "BAD_USER_INPUT", b"{}", "gzip"),
        (400, "BAD_USER_INPUT", b"", "gzip"),
        (400, "BAD_USER_INPUT", PACKED[:-1], "gzip"),
        (400, "BAD_USER_INPUT", PACKED + PACKED, "gzip"),
        (400, "BAD_USER_INPUT", PACKED[:-8] + b"\0" * 8, "gzip"),
        (413, "PAYLOAD_TOO_LARGE", gzip.compress(b" " * 1_000_001, mtime=0), "gzip"),
        (413, "PAYLOAD_TOO_LARGE", gzip.compress(b" " * 10_000_000, mtime=0), "gzip"),
    ],
    ids=[
        "another encoding",
        "two encodings",
        "not said to be packed",
        "not packed",
        "nothing",
        "cut",
        "two streams",
        "a wrong checksum",
        "a byte too much",
        "a bomb",
    ],
)
async def test_a_packed_body_that_is_broken_or_too_large_changes_nothing(
    notified: NotifyClient, status: int, code: str, body: bytes, encoding: str | None
) -> None:
    assert await notified.refusal(status, code, body, content_encoding=encoding)


async def test_a_packed_notification_costs_its_unpacked_size(table: Table, tmp_path: Path) -> None:
    sent = json.dumps({"data": [car("car1")] * 200}).encode()
    units = len(sent) // NOTIFIED_BYTES
    async with open_notify_client(
        table, tmp_path, rate_limit_burst=units, rate_limit_per_second=0.001
    ) as notified:
        packed = gzip.compress(sent)
        assert (await notified.send(packed, content_encoding="gzip")).status_code == 200
        assert (await notified.send(packed, content_encoding="gzip")).status_code == 429


@pytest.mark.parametrize("body", V2_BODIES.values(), ids=V2_BODIES)
async def test_ngsiv2_that_looks_like_ngsi_ld_is_stored(notified: NotifyClient, body: Any) -> None:
    assert (await notified.send(body, ngsiv2_attrsformat=None)).status_code == 200
    assert (await notified.world.recount()).persisted == 1


@pytest.mark.parametrize(
    ("roles", "status"),
    [
        (("/=admin",), 200),
        (("/vehicles=contributor",), 200),
        (("/vehicles/4wheels=contributor",), 200),
        (("/vehicles=reader",), 403),
        (("/=contributor", "/vehicles=reader"), 403),
        (("/vehicles/4wheels/x=admin",), 403),
        (("/vehicles2=admin",), 404),
        (("/vehicles/4wheels2=admin",), 404),
    ],
)
async def test_a_service_path_is_a_group_and_its_roles_count(
    notified: NotifyClient, roles: tuple[str, ...], status: int
) -> None:
    answer = await notified.send(None, *roles)
    assert answer.status_code == status, answer.text
    counts = await notified.world.wait_until_settled()
    assert counts.received == (status == 200)


async def test_an_api_key_for_the_service_path_is_enough(notified: NotifyClient) -> None:
    admin = notified.world.caller("ann", "/vehicles=admin")
    expiry = iso_timestamp(wall_clock() + timedelta(days=1))
    for role, status in ((Role.CONTRIBUTOR, 200), (Role.READER, 403)):
        roles = [GroupRole(group=GroupPath("/vehicles/4wheels"), role=role)]
        _, text = await admin.api_keys.create("orion", roles, expiry)
        answer = await notified.send(authorization=f"Bearer {text}")
        assert answer.status_code == status
    assert (await notified.world.wait_until_settled()).received == 1


async def test_every_service_path_of_a_notification_must_be_allowed(notified: NotifyClient) -> None:
    body = {"data": [car("car1"), car("car2")]}
    answer = await notified.send(body, "/vehicles/a=contributor", fiware_servicepath="/a, /b")
    assert answer.status_code == 404
    assert (await notified.world.counts(("vehicles", "/a"))).received == 0


async def test_names_of_services_meet_groups_in_comparison_form(notified: NotifyClient) -> None:
    answer = await notified.send(None, "/vehicles/4wheels=contributor", fiware_service="Vehicles")
    assert answer.status_code == 200
    assert (await notified.world.wait_until_settled(("Vehicles", "/4wheels"))).persisted == 1


async def test_absent_headers_have_the_defaults_of_the_settings(
    table: Table, tmp_path: Path
) -> None:
    async with open_notify_client(
        table, tmp_path, ngsi_default_service="cars", ngsi_default_service_path="/all"
    ) as notified:
        answer = await notified.send(
            None, "/cars=contributor", fiware_service=None, fiware_servicepath=None
        )
        assert answer.status_code == 200
        assert (await notified.world.wait_until_settled(("cars", "/all"))).persisted == 1


async def test_a_caller_who_sends_too_much_is_told_when_to_go_on(
    table: Table, tmp_path: Path
) -> None:
    async with open_notify_client(
        table, tmp_path, rate_limit_burst=1, rate_limit_per_second=0.5
    ) as notified:
        assert (await notified.send()).status_code == 200
        answer = await notified.send()
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "20")


async def test_without_a_sink_there_is_nowhere_to_notify(table: Table, tmp_path: Path) -> None:
    chosen = Settings.load(data_dir=tmp_path)
    async with (
        open_app(chosen, build_store(table, chosen), None) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost") as client,
    ):
        assert (await client.post("/notify")).status_code == 404


async def test_a_notification_costs_its_samples_and_entities(table: Table, tmp_path: Path) -> None:
    cars = [
        {"id": f"car{number}", "type": "car", **dict.fromkeys("abcdefghi", 1)}
        for number in range(20)
    ]
    body = json.dumps({"data": cars})
    units = len(body) // NOTIFIED_BYTES + 20 * (1 + 9) // STORED_SAMPLES
    async with open_notify_client(
        table, tmp_path, rate_limit_burst=units, rate_limit_per_second=0.001
    ) as notified:
        assert (await notified.send(body, ngsiv2_attrsformat="keyValues")).status_code == 200
        assert (await notified.send(body, ngsiv2_attrsformat="keyValues")).status_code == 429
        assert (await notified.world.wait_until_settled()).persisted == 20


async def test_a_notification_costs_its_size(table: Table, tmp_path: Path) -> None:
    body = json.dumps({"data": [car(f"car{number}") for number in range(200)]})
    units = len(body) // NOTIFIED_BYTES
    async with open_notify_client(
        table, tmp_path, rate_limit_burst=units, rate_limit_per_second=0.001
    ) as notified:
        assert (await notified.send(body)).status_code == 200
        before = await notified.world.wait_until_settled()
        answer = await notified.send(body)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
        assert await notified.world.counts() == before
        assert before.received == 200
