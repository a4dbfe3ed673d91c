"""The settings of the addresses that a server has, and of who may call it from where."""

import re
from ipaddress import IPv4Network, IPv6Network

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings

from penstock.server.settings.comma_lists import CommaList
from penstock.server.settings.secure_urls import show_url

_HOST = re.compile(r"(\*\.)?[a-z0-9.-]+|\[[0-9a-f:.]+\]|\*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?")


class AddressSettings(BaseSettings):
    """Addresses of the server, of its proxies, and of the sites whose pages may call it."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(
        8000, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one."
    )
    admin_port: int | None = Field(
        None,
        ge=0,
        le=65535,
        description="TCP port of a second listener on the same address, for `/healthz`, `/readyz` "
        "and `/metrics` only. It has places of its own, so that it answers when all connections "
        "of the other one are taken.",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^/?#@\s]+(/[^?#\s]*[^/?#\s])?$",
        description="Public URL of the server, without a slash at its end. URLs of files in the "
        "data directory begin with it. If it has a path, the pages lie below that, whether a proxy "
        "takes the path away or not. By default the address that the server listens on.",
    )
    allowed_hosts: CommaList[str] = Field(
        (),
        description="Host names that requests may name, `*.example.org` for all names below one. "
        "Empty allows every name, or on a loopback address only the names of this machine. "
        "The health endpoints answer under any name.",
    )
    trusted_proxies: CommaList[IPv4Network | IPv6Network] = Field(
        (),
        description="Networks (`10.0.0.0/8`) or addresses of proxies, whose `X-Forwarded-For` says "
        "from which address a change came, for the history. Empty believes nobody: entries have "
        "the address of the connection.",
    )
    allowed_origins: CommaList[str] = Field(
        (),
        description="Origins (`https://app.example.org`) of other sites whose pages may call the "
        "server. Empty allows its own pages only.",
    )

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(host.lower() for host in hosts)
        if wrong := [host for host in lower if not _HOST.fullmatch(host)]:
            raise ValueError(f"{show_url(wrong[0])!r} is not a host name without a port")
        return lower

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(origin.lower() for origin in origins)
        if wrong := [origin for origin in lower if not _ORIGIN.fullmatch(origin)]:
            raise ValueError(
                f"{show_url(wrong[0])!r} is not of the form https://host or https://host:port"
            )
        return lower
