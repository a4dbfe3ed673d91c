"""The address in the history: that of the connection, or what trusted proxies say of it."""

import json
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import httpx
import pytest
from starlette.types import Scope

from penstock.datastore.history.export import read_all_entries
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.edge.request import client_address, current_scope
from penstock.server.settings.settings import Settings
from tests.server.auth.signed_tokens import bearer

PROXIES = (ip_network("10.0.0.0/8"), ip_network("::1/128"))
DELETE = """mutation($path: GroupPath!) {
  createGroup(input: {path: $path}) { __typename }
  deleteGroup(input: {path: $path}) { __typename } }"""


@pytest.fixture(autouse=True)
def _scope_of_the_test() -> Iterator[None]:
    token = current_scope.set(None)
    yield
    current_scope.reset(token)


def arrive(client: str | None, *forwarded: str) -> None:
    """Let the current request come from an address, with fields of `X-Forwarded-For`."""
    fields = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    address = None if client is None else (client, 1234)
    scope: Scope = {"type": "http", "client": address, "headers": fields}
    current_scope.set(scope)


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("192.0.2.1", (), "192.0.2.1"),
        ("192.0.2.1", ("198.51.100.9",), "192.0.2.1"),
        ("10.1.2.3", ("198.51.100.9",), "198.51.100.9"),
        ("10.1.2.3", ("203.0.113.5, 198.51.100.9",), "198.51.100.9"),
        ("10.1.2.3", ("198.51.100.9, 10.9.9.9",), "198.51.100.9"),
        ("10.1.2.3", ("203.0.113.5", "198.51.100.9"), "198.51.100.9"),
        ("10.1.2.3", (), "10.1.2.3"),
        ("10.1.2.3", ("nonsense",), "10.1.2.3"),
        ("10.1.2.3", ("198.51.100.9, <b>",), "10.1.2.3"),
        ("::1", ("2001:db8::7",), "2001:db8::7"),
        ("a.socket", ("198.51.100.9",), "a.socket"),
        ("::ffff:10.1.2.3", ("198.51.100.9",), "198.51.100.9"),
        ("10.1.2.3", ("203.0.113.5, ::ffff:198.51.100.9",), "198.51.100.9"),
        ("10.1.2.3", ("198.51.100.9, ::ffff:10.9.9.9",), "198.51.100.9"),
        ("10.1.2.3", ("203.0.113.5, 198.51.100.9:4711",), "198.51.100.9"),
        ("10.1.2.3", ("203.0.113.5, [2001:db8::7]:4711",), "2001:db8::7"),
        ("10.1.2.3", ("[2001:db8::7], 10.9.9.9:80",), "2001:db8::7"),
        ("10.1.2.3", ("198.51.100.9, , 10.9.9.9,", ""), "198.51.100.9"),
        ("10.1.2.3", (",, ,",), "10.1.2.3"),
        ("10.1.2.3", ("198.51.100.9:", "10.9.9.9"), "10.9.9.9"),
        ("10.1.2.3", ("198.51.100.9:123456",), "10.1.2.3"),
        ("10.1.2.3", ("[198.51.100.9",), "10.1.2.3"),
        ("10.1.2.3", ("2001:db8::7]",), "10.1.2.3"),
        ("10.1.2.3", ("\u0661.2.3.4",), "10.1.2.3"),
        ("10.1.2.3", ("fe80::1%<b>",), "10.1.2.3"),
        ("10.1.2.3", ("fe80::1%eth0",), "fe80::1"),
        ("10.1.2.3", ("unknown, 10.0.0.4",), "10.0.0.4"),
        ("192.0.2.1", ("10.0.0.1," * 3_000,), "192.0.2.1"),
        ("10.1.2.3", ("198.51.100.9," + "10.0.0.1," * 3_000,), "10.0.0.1"),
        (None, ("198.51.100.9",), None),
    ],
)
def test_only_what_a_trusted_proxy_says_is_believed(
    client: str | None, forwarded: tuple[str, ...], address: str | None
) -> None:
    arrive(client, *forwarded)
    assert client_address(PROXIES) == address
    assert client_address(()) == client


def test_of_a_long_list_only_the_end_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def note(text: str) -> IPv4Address | IPv6Address:
        read.append(text)
        return ip_address(text)

    monkeypatch.setattr("penstock.server.edge.request.ip_address", note)
    arrive("10.1.2.3", "198.51.100.9," + ",".join(["10.0.0.1"] * 3_000))
    assert client_address(PROXIES) == "10.0.0.1"
    assert len(read) < 100


def test_outside_of_a_request_there_is_no_address() -> None:
    assert client_address(PROXIES) is None


@pytest.mark.parametrize(("trusted", "address"), [("", "127.0.0.1"), ("127.0.0.1", "192.0.2.5")])
async def test_a_change_over_http_leaves_the_address_of_the_client(
    store: Store, tmp_path: Path, trusted: str, address: str
) -> None:
    settings = Settings.load(data_dir=tmp_path, trusted_proxies=trusted)
    token = sign_dev_token(dev_key(tmp_path), "ann", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
    async with open_app(settings, store, None) as app:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            body = json.dumps({"query": DELETE, "variables": {"path": "/gone"}})
            headers = {**bearer(token), "content-type": "application/json"}
            headers["x-forwarded-for"] = "192.0.2.5"
            answer = await http.post("/graphql", content=body, headers=headers)
    assert "errors" not in answer.json()
    (entry,) = [one async for one in read_all_entries(store.table)]
    assert (entry.by, entry.address, entry.subject) == ("ann", address, "/gone")
