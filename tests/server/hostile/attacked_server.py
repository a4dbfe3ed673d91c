"""The server under attack: the real one, with two tenants' data and a monitor of its event loop."""

import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from penstock.server.auth.claims import default_group_from, roles_from
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.graphql_client import CREATE, CREATE_GROUP, UPDATE, draft
from tests.support.patience import wait_until
from tests.support.penstock_command import Client, Server, read_announcement
from tests.support.server_process import environment
from tests.support.warm_start import Program, start_program

SECRET = "their-secret"
"""A text in all of the other tenant's data, and in the refused values."""

OWN = "MY_SECRET"
SETTINGS = {
    "PENSTOCK_RATE_LIMIT_PER_SECOND": "0",
    "PENSTOCK_BODY_READ_SECONDS": "3",
    "PENSTOCK_STREAM_INIT_SECONDS": "3",
    "PENSTOCK_STREAM_MESSAGES_PER_SECOND": "1000",
    "PENSTOCK_LOG_FORMAT": "json",
}
MAKE_KEY = """mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) {
  ... on CreateApiKeyPayload { apiKey { id } secret } } }"""
CURSOR = '{ pipelines(group: "/eu", first: 1) { pageInfo { endCursor } } }'


@dataclass(frozen=True, slots=True)
class AttackedServer:
    """The attacked server, the attacker's token, and the texts for the words in requests.

    No answer to the attacker may contain one of the `secrets`.
    """

    url: str
    admin_url: str
    pid: int
    log: Path
    token: str
    meant: Mapping[str, str]
    secrets: tuple[str, ...]

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    def log_text(self) -> str:
        return self.log.read_text()

    def resident_bytes(self) -> int:
        """Return the memory that the server has now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def descriptor_limits(self) -> tuple[int, int]:
        """Return the soft and the hard limit of the server's descriptors."""
        return resource.prlimit(self.pid, resource.RLIMIT_NOFILE)


@contextmanager
def open_attacked_server(
    directory: Path,
    settings: Mapping[str, str] = MappingProxyType({}),
    descriptors: tuple[int, int] | None = None,
    pipelines: int = 1,
) -> Iterator[AttackedServer]:
    """Start the server, and add two tenants that share nothing; the attacker has the pipelines.

    `descriptors` are the soft and the hard limit that it starts with.
    """
    data_dir, log = directory / "data", directory / "log"
    arguments = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")

    with log.open("wb") as output:
        process = start_program(
            "tests.server.hostile.event_loop_monitor",
            *arguments,
            variables=environment(**(SETTINGS | dict(settings))),
            output=output,
            errors=output,
            descriptors=descriptors,
        )
    try:
        server = Server(process, _announced_lines(process, log))
        yield _fill(server, data_dir, log, pipelines)
    finally:
        process.terminate()
        process.wait()


def _announced_lines(process: Program, log: Path) -> Mapping[str, str]:
    def is_announced() -> bool:
        assert process.poll() is None, log.read_text()
        return bool(read_announcement(log.read_text()))

    wait_until(is_announced)
    return read_announcement(log.read_text())


def _fill(server: Server, data_dir: Path, log: Path, pipelines: int) -> AttackedServer:
    root, mine, theirs = (
        _token(data_dir, user, role)
        for user, role in (("root", "/=admin"), ("me", "/usa=admin"), ("them", "/eu=admin"))
    )
    with _client(server, root) as one:
        for path in ("/usa", "/eu"):
            assert one.ask(CREATE_GROUP, input={"path": path})["group"]
    with _client(server, theirs) as one:
        made = one.ask(CREATE, input=draft("theirs", f"{SECRET}=a", group="/eu"))["pipeline"]
        answer = one.ask(
            UPDATE, input={"id": made["id"], "expectedVersion": 1, "description": SECRET}
        )
        assert answer["pipeline"]["version"] == 2
        roles = [{"group": "/eu", "role": "READER"}]
        key = one.ask(MAKE_KEY, input={"name": SECRET, "roles": roles, "expiresAt": _tomorrow()})
        cursor = one.ask(CURSOR)["pageInfo"]["endCursor"]
    with _client(server, mine) as one:
        ids = [
            one.ask(CREATE, input=draft(f"mine {n}", "a=b", group="/usa"))["pipeline"]["id"]
            for n in range(pipelines)
        ]
    meant = {
        "THEIR_ID": made["id"],
        "THEIR_CURSOR": cursor,
        "THEIR_KEY": key["apiKey"]["id"],
        "MY_ID": ids[0],
        "TOKEN": mine,
    }
    secrets = (theirs, key["secret"], str(data_dir))
    admin_url = server.said.get("Admin", "").partition("/healthz")[0]
    return AttackedServer(server.url, admin_url, server.process.pid, log, mine, meant, secrets)


def _token(data_dir: Path, user: str, role: str) -> str:
    held = roles_from([role])
    group = default_group_from(None, held)
    return sign_dev_token(dev_key(data_dir), user, held, group, DEV_TOKEN_LIFETIME)


def _tomorrow() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 24 * 3600))


@contextmanager
def _client(server: Server, token: str) -> Iterator[Client]:
    one = Client(server, token)
    try:
        yield one
    finally:
        one.close()
