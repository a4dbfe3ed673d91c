"""How fast messages are taken from a connection."""

import asyncio


class Pace:
    """Lets a number of messages through a second; after a pause, a second's worth at once."""

    def __init__(self, per_second: int) -> None:
        self._step = 1 / per_second
        self._reached = 0.0

    async def wait(self) -> None:
        """Wait until the next message may be taken."""
        now = asyncio.get_running_loop().time()
        self._reached = max(self._reached, now - 1) + self._step
        if self._reached > now:
            await asyncio.sleep(self._reached - now)
