"""Walks the frames of a WebSocket without reading their payload, and counts what they cost."""

from collections.abc import Callable
from typing import Final

from penstock.datastore.errors import RateLimited
from penstock.schema.engine.cost import BODY_BYTES

STRANGER_BYTES: Final = 64 * 1024
"""The most bytes of all messages together before the client has proven who it is."""

TURN_FRAMES: Final = 64
TURN_BYTES: Final = 64 * 1024
"""The most frames and bytes of one connection that are parsed in one turn of the event loop."""

FREE_FRAGMENTS: Final = 64
FRAGMENT_BYTES: Final = 256
"""A message may have 64 fragments, and one more for each 256 bytes."""

CONTROL_BURST: Final = 100
CONTROLS_PER_SECOND: Final = 10.0

_POLICY_VIOLATION: Final = 1008
_PROTOCOL_ERROR: Final = 1002
_MESSAGE_TOO_BIG: Final = 1009
_FIRST_CONTROL: Final = 8
_MASK_BYTES: Final = 4


class FrameRefused(Exception):
    """The connection must be closed, with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class FrameWalker:
    """Splits the bytes of a client at the ends of its frames, and counts frames and bytes.

    It refuses fragments and control frames beyond reason, messages of more than `most_bytes`, and
    those of a stranger beyond STRANGER_BYTES. It leaves all other errors to the parser behind it,
    which gets the same bytes. `is_paid` tells whether the last message that began was paid, and
    `arrived_bytes` is what has come of the message that this turn belongs to.
    """

    def __init__(self, most_bytes: int, clock: Callable[[], float]) -> None:
        self.ended_message = False
        self.is_limited = False
        self.is_paid = False
        self.arrived_bytes = 0
        self._most_bytes = most_bytes
        self._most_of_stranger = STRANGER_BYTES
        self._pay: Callable[[int], None] | None = None
        self._paid_units = 0
        self._is_excused = False
        self._clock = clock
        self._payload = 0
        self._is_control = self._ends_message = False
        self._fragments = 0
        self._message_bytes = 0
        self._controls = float(CONTROL_BURST)
        self._counted_at = clock()

    def admit(self, pay: Callable[[int], None]) -> None:
        """Allow messages of full size to a client who is known, and pays for their units.

        `pay` raises RateLimited, which takes nothing.
        """
        self._pay = pay

    def excuse(self) -> None:
        """Let the message pass, unpaid, that the caller cannot pay for."""
        self._is_excused = True

    def advance(self, data: bytearray) -> int:
        """Return the number of bytes that may be parsed in this turn; raises FrameRefused.

        They end with a whole header, and at the latest with the first message that ends;
        `ended_message` tells whether one does. They also end before a frame that the caller
        cannot pay for, which `is_limited` tells.
        """
        at = 0
        if self.ended_message:
            self.arrived_bytes = 0
        self.ended_message = self.is_limited = False
        for _ in range(TURN_FRAMES):
            if not self._payload:
                begin = at
                try:
                    at += self._read_header(data, at)
                except RateLimited:
                    self.is_limited = True
                if at == begin:
                    break
            step = min(self._payload, len(data) - at, TURN_BYTES)
            at += step
            self._payload -= step
            if not self._is_control:
                self.arrived_bytes += step
            self.ended_message = self._ends_message and not self._payload
            if self._payload or self.ended_message or at >= TURN_BYTES:
                break
        return at

    def _read_header(self, data: bytearray, at: int) -> int:
        """Count the frame that begins here; returns the size of its header, 0 if it is not whole.

        The parser refuses a frame without a mask after two bytes, so no more is needed of it.
        """
        if len(data) < at + 2:
            return 0
        first, second = data[at], data[at + 1]
        self._ends_message = False
        if second < 0x80:
            return 2
        short = second & 0x7F
        wide = {126: 2, 127: 8}.get(short, 0)
        size = 2 + wide + _MASK_BYTES
        if len(data) < at + size:
            return 0
        length = int.from_bytes(data[at + 2 : at + 2 + wide], "big") if wide else short
        if (wide == 2 and length < 126) or (wide == 8 and length < 2**16):
            raise FrameRefused(_PROTOCOL_ERROR, "The length is not in its shortest form")
        self._is_control = first & 0x0F >= _FIRST_CONTROL
        if self._is_control:
            self._count_control()
        else:
            self._count_fragment(length, starts=first & 0x0F != 0, ends=first >= 0x80)
        self._payload = length
        return size

    def _count_fragment(self, length: int, *, starts: bool, ends: bool) -> None:
        """Count a frame of a message; raises RateLimited before anything is counted."""
        size = length if starts else self._message_bytes + length
        if size > self._most_bytes:
            raise FrameRefused(_MESSAGE_TOO_BIG, f"A message has at most {self._most_bytes} bytes")
        if self._pay is None:
            self._count_strange(length)
        self._pay_until(size, starts=starts)
        if starts:
            self._fragments = self.arrived_bytes = 0
        self._fragments += 1
        self._message_bytes = size
        if self._fragments > FREE_FRAGMENTS + size // FRAGMENT_BYTES:
            raise FrameRefused(_POLICY_VIOLATION, "Too many fragments for the size of the message")
        self._ends_message = ends

    def _count_strange(self, length: int) -> None:
        self._most_of_stranger -= length
        if self._most_of_stranger < 0:
            reason = f"Without a valid token all messages have at most {STRANGER_BYTES} bytes"
            raise FrameRefused(_MESSAGE_TOO_BIG, reason)

    def _pay_until(self, size: int, *, starts: bool) -> None:
        """Pay for so many bytes of a message, of which some may be paid."""
        paid = 0 if starts else self._paid_units
        is_paid = self._pay is not None if starts else self.is_paid
        units = size // BODY_BYTES - paid
        if self._pay is not None and is_paid and units:
            if self._is_excused:
                self._is_excused = is_paid = False
            else:
                self._pay(units)
        self._paid_units, self.is_paid = paid + units, is_paid

    def _count_control(self) -> None:
        now = self._clock()
        earned = (now - self._counted_at) * CONTROLS_PER_SECOND
        self._controls = min(CONTROL_BURST, self._controls + earned) - 1
        self._counted_at = now
        if self._controls < 0:
            raise FrameRefused(_POLICY_VIOLATION, "Too many control frames")
