"""Walks the frames of a WebSocket without reading their payload, and counts what they cost."""

from collections.abc import Callable
from typing import Final

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

    It refuses fragments and control frames beyond reason, and messages of more than `most_bytes`.
    It leaves all other errors to the parser behind it, which gets the same bytes.
    """

    def __init__(self, most_bytes: int, clock: Callable[[], float]) -> None:
        self.most_bytes = most_bytes
        self.ended_message = False
        self._clock = clock
        self._payload = 0
        self._ends_message = False
        self._fragments = 0
        self._message_bytes = 0
        self._controls = float(CONTROL_BURST)
        self._counted_at = clock()

    def advance(self, data: bytearray) -> int:
        """Return the number of bytes that may be parsed in this turn; raises FrameRefused.

        They end with a whole header, and at the latest with the first message that ends;
        `ended_message` tells whether one does.
        """
        at = 0
        self.ended_message = False
        for _ in range(TURN_FRAMES):
            if not self._payload:
                begin = at
                at += self._read_header(data, at)
                if at == begin:
                    break
            step = min(self._payload, len(data) - at, TURN_BYTES)
            at += step
            self._payload -= step
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
        if first & 0x0F >= _FIRST_CONTROL:
            self._count_control()
        else:
            self._count_fragment(length, starts=first & 0x0F != 0, ends=first >= 0x80)
        self._payload = length
        return size

    def _count_fragment(self, length: int, *, starts: bool, ends: bool) -> None:
        if starts:
            self._fragments = self._message_bytes = 0
        self._fragments += 1
        self._message_bytes += length
        if self._message_bytes > self.most_bytes:
            reason = f"A message has at most {self.most_bytes} bytes"
            raise FrameRefused(_MESSAGE_TOO_BIG, reason)
        if self._fragments > FREE_FRAGMENTS + self._message_bytes // FRAGMENT_BYTES:
            raise FrameRefused(_POLICY_VIOLATION, "Too many fragments for the size of the message")
        self._ends_message = ends

    def _count_control(self) -> None:
        now = self._clock()
        earned = (now - self._counted_at) * CONTROLS_PER_SECOND
        self._controls = min(CONTROL_BURST, self._controls + earned) - 1
        self._counted_at = now
        if self._controls < 0:
            raise FrameRefused(_POLICY_VIOLATION, "Too many control frames")
