"""The server connects to public endpoints only, and no trick makes it connect elsewhere."""

import socket
from collections.abc import AsyncIterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network
from typing import Any

import pytest

from penstock.datastore.audio.endpoint_rules import PUBLIC, EndpointRules
from penstock.datastore.errors import IllegalState, Invalid, Unavailable
from penstock.datastore.objects.port import Credentials
from penstock.datastore.objects.s3 import S3Files
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION


@pytest.mark.parametrize(
    "url",
    [
        "https://s3.example.org",
        "https://s3.example.org:9000/",
        "https://93.184.216.34",
        "https://[2606:4700::1111]",
    ],
)
def test_a_public_endpoint_is_let_in(url: str) -> None:
    PUBLIC.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://s3.example.org",
        "ftp://s3.example.org",
        "file:///etc/passwd",
        "https://",
        "https:///path",
        "//s3.example.org",
        "https://user:pw@s3.example.org",
        "https://user@s3.example.org",
        "https://s3.example.org/path",
        "https://s3.example.org?x",
        "https://s3.example.org#x",
        "https://s3.example.org:port",
        "https://[::1",
        f"https://{'x' * 600}",
        "https://127.0.0.1",
        "https://10.0.0.1",
        "https://172.16.1.1",
        "https://192.168.0.1",
        "https://169.254.169.254",
        "https://100.64.0.1",
        "https://0.0.0.0",
        "https://224.0.0.1",
        "https://255.255.255.255",
        "https://[::1]",
        "https://[::]",
        "https://[fe80::1]",
        "https://[fd00:ec2::254]",
        "https://[::ffff:169.254.169.254]",
        "https://[64:ff9b::a9fe:a9fe]",
        "https://[2002:7f00:1::]",
    ],
)
def test_what_is_no_public_endpoint_is_refused_unasked(url: str) -> None:
    with pytest.raises(Invalid) as refused:
        PUBLIC.check(url)
    assert [problem.path for problem in refused.value.problems] == [["endpoint"]]


SPECIAL_IPV4 = {
    "0.0.0.0/8": "after",
    "10.0.0.0/8": "both",
    "100.64.0.0/10": "both",
    "127.0.0.0/8": "both",
    "168.63.129.16/32": "both",
    "169.254.0.0/16": "both",
    "172.16.0.0/12": "both",
    "192.0.0.0/24": "both",
    "192.0.2.0/24": "both",
    "192.31.196.0/24": "both",
    "192.52.193.0/24": "both",
    "192.88.99.0/24": "both",
    "192.168.0.0/16": "both",
    "192.175.48.0/24": "both",
    "198.18.0.0/15": "both",
    "198.51.100.0/24": "both",
    "203.0.113.0/24": "both",
    "224.0.0.0/4": "before",
    "240.0.0.0/4": "",
}
SPECIAL_IPV6 = {
    "::/96": "",
    "::ffff:0:0:0/96": "",
    "64:ff9b::/96": "",
    "64:ff9b:1::/48": "",
    "100::/64": "",
    "100:0:0:1::/64": "",
    "2001::/23": "both",
    "2001:db8::/32": "both",
    "2002::/16": "both",
    "2620:4f:8000::/48": "both",
    "3fff::/20": "before",
    "5f00::/16": "",
    "fc00::/7": "",
    "fd00:ec2::254/128": "",
    "fe80::/10": "",
    "fec0::/10": "",
    "ff00::/8": "",
}
"""The special ranges, each with the sides on which its neighbour is public."""


def is_allowed(address: IPv4Address | IPv6Address) -> bool:
    shown = f"[{address}]" if address.version == 6 else str(address)
    try:
        PUBLIC.check(f"https://{shown}")
    except Invalid:
        assert not PUBLIC.allows(str(address))
        return False
    return PUBLIC.allows(str(address))


@pytest.mark.parametrize(("text", "public"), [*SPECIAL_IPV4.items(), *SPECIAL_IPV6.items()])
def test_a_special_range_is_refused_from_its_first_to_its_last_address(
    text: str, public: str
) -> None:
    network = ip_network(text)
    first, last = network[0], network[-1]
    assert not any(map(is_allowed, (first, network[network.num_addresses // 2], last)))
    if public in ("before", "both"):
        assert is_allowed(first - 1)
    if public in ("after", "both"):
        assert is_allowed(last + 1)


@pytest.mark.parametrize("text", SPECIAL_IPV4)
def test_a_special_address_is_refused_in_every_form_of_ipv6(text: str) -> None:
    network = IPv4Network(text)
    for number in (int(network[0]), int(network[-1])):
        forms = (
            number,
            0xFFFF << 32 | number,
            0x64_FF9B << 96 | number,
            0x64_FF9B_0001 << 80 | number,
            0x2002 << 112 | number << 80,
            0x2001_0000 << 96 | number ^ 0xFFFF_FFFF,
            0x2001_0000 << 96 | number << 64,
        )
        assert not any(is_allowed(IPv6Address(form)) for form in forms)
    assert is_allowed(IPv6Address("::ffff:93.184.216.34"))


def leading_to(*addresses: str) -> Any:
    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        kind = socket.SOCK_STREAM
        return [(socket.AF_INET, kind, 6, "", (address, 443)) for address in addresses]

    return getaddrinfo


@pytest.mark.parametrize(
    "addresses", [("127.0.0.1",), ("93.184.216.34", "10.1.2.3"), ("169.254.169.254",)]
)
async def test_a_name_that_leads_inside_is_refused(
    monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", leading_to(*addresses))
    with pytest.raises(IllegalState, match="no public address"):
        await PUBLIC.check_host("https://s3.example.org")
    await EndpointRules(private=True).check_host("https://s3.example.org")


async def test_a_name_that_leads_outside_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "asyncio.base_events.BaseEventLoop.getaddrinfo", leading_to("93.184.216.34")
    )
    await PUBLIC.check_host("https://s3.example.org")


async def test_a_name_that_leads_nowhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def getaddrinfo(*_: object, **__: object) -> list[Any]:
        raise socket.gaierror("no such name")

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", getaddrinfo)
    with pytest.raises(IllegalState, match="no public address"):
        await PUBLIC.check_host("https://s3.example.org")


class Inside:
    """A service that only the server can reach; it counts its requests."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, request: Request, connection: Connection) -> None:
        self.asked += 1
        await connection.answer(Answer(200, b"the keys of the house"))


@pytest.fixture
async def inside() -> AsyncIterator[tuple[Inside, str]]:
    behaviour = Inside()
    server = LoopbackServer(behaviour)
    yield behaviour, await server.start()
    await server.stop()


async def open_files(url: str, rules: EndpointRules) -> S3Files:
    return await S3Files.open(
        "bucket",
        region=REGION,
        endpoint_url=url,
        credentials=Credentials("AKIAEXAMPLE", "secret"),
        sockets=rules.socket_for,
    )


async def test_no_connection_is_made_to_an_address_inside_however_it_was_found(
    inside: tuple[Inside, str],
) -> None:
    """As if a name resolved to a different address after the check."""
    service, url = inside
    files = await open_files(url, PUBLIC)
    with pytest.raises((Unavailable, IllegalState)):
        await files._call("head_object", 0.3, Key="x")
    await files.close()
    assert service.asked == 0


async def test_a_redirect_does_not_lead_inside(inside: tuple[Inside, str]) -> None:
    service, url = inside

    async def redirect(_: Request, connection: Connection) -> None:
        await connection.answer(Answer(307, b"", {"location": f"{url}/latest/meta-data"}))

    server = LoopbackServer(redirect)
    outside = await server.start()

    class Rules(EndpointRules):
        def socket_for(self, found: tuple[Any, ...]) -> socket.socket:
            public = found[4][1] == int(outside.rpartition(":")[2])
            return EndpointRules(private=public).socket_for(found)

    files = await open_files(outside, Rules())
    with pytest.raises(Unavailable, match="at attempt 2 of 2"):
        await files._call("get_object", HUNG_SECONDS, Key="x")
    assert service.asked == 0
    await files.close()
    await server.stop()


async def test_a_proxy_of_the_environment_does_not_get_to_look_names_up_for_us(
    inside: tuple[Inside, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    service, url = inside
    monkeypatch.setenv("HTTP_PROXY", url)
    monkeypatch.setenv("HTTPS_PROXY", url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    files = await open_files("http://s3.example.invalid", PUBLIC)
    with pytest.raises(Unavailable):
        await files._call("head_object", 0.3, Key="x")
    await files.close()
    assert service.asked == 0
