"""Players of the OpenSubsonic API: API keys of users, and calls within the process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from httpx import ASGITransport, AsyncClient, Response

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.player_passwords import NewPlayerPassword
from penstock.datastore.records import GroupRole
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.store import Store
from penstock.server.app import open_app
from penstock.server.settings.settings import Settings
from tests.server.opensubsonic.specification import describe_fault
from tests.support.patience import HUNG_SECONDS

NAMESPACE = "{http://subsonic.org/restapi}"
DAY = timedelta(days=1)


async def key_of(store: Store, user: str) -> str:
    """Make an API key of a user; return its text."""
    caller = Caller(user, {ROOT: Role.READER})
    expires = iso_timestamp(store.clock.now() + DAY)
    made = await store.open_session(caller).api_keys.create(
        "player", [GroupRole(group=ROOT, role=Role.READER)], expires
    )
    return str(made.text)


def with_vault(store: Store) -> Store:
    """The store as a server opens it: it can seal secrets of users."""
    return replace(store, user_buckets=BucketAccess(LocalVault(b"k" * 32)))


async def make_password(store: Store, user: str) -> NewPlayerPassword:
    """Make a password of a player of a user."""
    session = with_vault(store).open_session(Caller(user, {ROOT: Role.READER}))
    return await session.player_passwords.create("player")


@dataclass
class Player:
    """A player with the key of its user."""

    client: AsyncClient
    parameters: dict[str, Any] = field(default_factory=dict)

    async def send(self, call: str, **parameters: Any) -> Response:
        return await self.client.get(f"/rest/{call}", params={**self.parameters, **parameters})

    async def ask(self, call: str, **parameters: Any) -> dict[str, Any]:
        """Send a call; return what the answer in JSON says, which keeps to the specification."""
        answer = await self.send(call, f="json", **parameters)
        assert answer.status_code == 200, answer.text
        fault = describe_fault(call, answer.json())
        assert fault is None, fault
        said: dict[str, Any] = answer.json()["subsonic-response"]
        return said

    async def fail(self, call: str, **parameters: Any) -> tuple[int, str]:
        said = await self.ask(call, **parameters)
        assert said["status"] == "failed", said
        return said["error"]["code"], said["error"]["message"]


@asynccontextmanager
async def open_players(
    store: Store, data_dir: Path, /, **settings: Any
) -> AsyncIterator[AsyncClient]:
    """Serve the API over a store; yield a client that has no key."""
    chosen = {"opensubsonic": True, "deadline_seconds": HUNG_SECONDS, **settings}
    async with (
        open_app(Settings.load(data_dir=data_dir, **chosen), with_vault(store), None) as app,
        AsyncClient(transport=ASGITransport(app), base_url="http://localhost") as client,
    ):
        yield client


async def player_of(store: Store, client: AsyncClient, user: str) -> Player:
    return Player(client, {"apiKey": await key_of(store, user), "v": "1.16.1", "c": "tests"})


def read_xml(content: bytes) -> Any:
    """Read an answer in XML into the form that it has in JSON, with texts as values."""
    return _read(ET.fromstring(content))


def _read(element: ET.Element) -> Any:
    found: dict[str, Any] = dict(element.attrib)
    if element.text:
        found["value"] = element.text
    for child in element:
        found.setdefault(child.tag.removeprefix(NAMESPACE), []).append(_read(child))
    return found


def as_xml_shows(value: Any) -> Any:
    """Bring an answer in JSON into the form of `read_xml`."""
    if isinstance(value, dict):
        return {name: _shown_field(name, each) for name, each in value.items() if each != []}
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _shown_field(_name: str, value: Any) -> Any:
    if isinstance(value, list):
        return [
            as_xml_shows(each) if isinstance(each, dict) else {"value": as_xml_shows(each)}
            for each in value
        ]
    return [as_xml_shows(value)] if isinstance(value, dict) else as_xml_shows(value)
