"""The sockets that a server listens on: for clients, and for health and metrics if it is set."""

import errno
import os
import socket
from types import TracebackType
from typing import NamedTuple, Self

from penstock.server.core.command_output import CommandFailed
from penstock.server.settings.settings import Settings

_BACKLOG = 2048

_UNSENT_BYTES = 128 * 1024
"""The most bytes that the system takes beyond what a client may receive now.

By default it takes 4 MB for each client, also for one that reads nothing.
"""


class Listeners(NamedTuple):
    """Bound sockets, which close with the block."""

    public: socket.socket
    admin: socket.socket | None = None

    @classmethod
    def bind(cls, settings: Settings) -> Self:
        """Bind the ports of the settings; raises CommandFailed if one cannot be had."""
        public = _bind(settings.host, settings.port, "port")
        if settings.admin_port is None:
            return cls(public)
        try:
            return cls(public, _bind(settings.host, settings.admin_port, "admin-port"))
        except CommandFailed:
            public.close()
            raise

    def note_port(self, settings: Settings) -> Settings:
        """Return settings with the port that was bound, which `port = 0` leaves to the system.

        Worker processes tell machines of a cluster the URL of the server.
        """
        return settings.model_copy(update={"port": self.public.getsockname()[1]})

    @classmethod
    def inherit(cls, files: list[int]) -> Self:
        """Return the listeners of the process that has started this one."""
        return cls(*(socket.socket(fileno=file) for file in files))

    @property
    def sockets(self) -> list[socket.socket]:
        return [self.public] if self.admin is None else [self.public, self.admin]

    @property
    def files(self) -> list[int]:
        return [one.fileno() for one in self.sockets]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for one in self.sockets:
            one.close()


def _bind(host: str, port: int, option: str) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address, family=family, backlog=_BACKLOG)
    except OSError as error:
        # Python's own text of the error repeats the address.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        refused = f"Cannot listen on {host}:{port}: {reason}."
        if error.errno == errno.EADDRINUSE:
            refused += f" {_take_other(option)}"
        raise CommandFailed(refused) from error
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        # Accepted connections inherit the option.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
    return listener


def _take_other(option: str) -> str:
    """Say how to choose another port, in each way that a user may have started the server."""
    variable = f"PENSTOCK_{option.upper().replace('-', '_')}"
    by_make = ", `make serve PORT=8001`" if option == "port" else ""
    return f"Choose another port: `--{option} 8001`{by_make} or {variable}=8001."
