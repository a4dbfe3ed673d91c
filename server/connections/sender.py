"""The sender of the requests of a connection."""

import asyncio
from functools import cached_property

from penstock.server.connections.body_budget import Party
from penstock.server.connections.gate import ConnectionGate
from penstock.server.core.sites import site_of


class Sender:
    """A stranger at an address, or a caller, who has a place at the gate while they are served."""

    def __init__(self, transport: asyncio.Transport, gate: ConnectionGate) -> None:
        self._transport = transport
        self._gate = gate
        self.caller: str | None = None

    @cached_property
    def site(self) -> str:
        """The address, or its network."""
        address = self._transport.get_extra_info("peername") or ("",)
        return site_of(str(address[0]))

    @property
    def party(self) -> Party:
        return self._stranger if self.caller is None else Party(caller=self.caller)

    @cached_property
    def _stranger(self) -> Party:
        return Party(site=self.site)

    def take_place(self, caller: str) -> bool:
        """Take a place for a caller; False if they have too many."""
        if not self._gate.take_place(caller):
            return False
        self.caller = caller
        return True

    def leave_place(self) -> None:
        """Give the place back, if there is one."""
        if self.caller is not None:
            self._gate.leave_place(self.caller)
            self.caller = None
