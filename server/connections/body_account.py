"""The bytes of one request's body, which count for the client until the request is answered."""

from penstock.server.connections.body_budget import Party, PartyBytesExceeded, TotalBytesExceeded
from penstock.server.connections.gate import ConnectionGate
from penstock.server.connections.refusals import (
    TOO_MUCH_BODY,
    TOO_MUCH_BODY_OF_CLIENT,
    RefusedRequest,
)


class BodyAccount:
    """The bytes that the application has of a connection's request: `size`, of `party`."""

    __slots__ = ("_gate", "party", "size")

    def __init__(self, gate: ConnectionGate) -> None:
        self._gate = gate
        self.party = Party()
        self.size = 0

    def take(self, party: Party, size: int) -> None:
        """Count further bytes, of the party that sends the first; raises RefusedRequest."""
        if not self.size:
            self.party = party
        try:
            self._gate.take_body(self.party, size)
        except PartyBytesExceeded:
            raise RefusedRequest(TOO_MUCH_BODY_OF_CLIENT) from None
        except TotalBytesExceeded:
            raise RefusedRequest(TOO_MUCH_BODY) from None
        self.size += size

    def charge(self, party: Party) -> None:
        """Count all bytes for another party, which is known now; raises RefusedRequest."""
        size = self.size
        if size:
            self.give_back()
            self.take(party, size)

    def give_back(self, size: int | None = None) -> None:
        """Count so many bytes no longer, or none of them."""
        freed = self.size if size is None else min(size, self.size)
        if freed:
            self._gate.bodies.give_back(self.party, freed)
            self.size -= freed
