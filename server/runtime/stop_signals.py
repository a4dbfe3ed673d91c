"""The signals that stop a process (SIGINT, SIGTERM): none is lost, whenever it comes."""

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final, TypeAlias

from uvloop import new_event_loop

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

Main: TypeAlias = Callable[["StopSignals"], Coroutine[Any, Any, None]]


def run_until_stopped(main: Main) -> None:
    """Run to the end, or until a signal stops it; what is open closes in either case.

    A handler of Python may raise anywhere, also where the exception is ignored, so signals are
    handled between two turns of the event loop.
    """
    stop = StopSignals()
    with suppress(KeyboardInterrupt):
        for each in _SIGNALS:
            signal.signal(each, stop.interrupt)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(stop.run(main))
    # Nothing is open any more.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_DFL)


class StopSignals:
    """Stops a process in order: by cancelling its main task, or as a block has chosen."""

    def __init__(self) -> None:
        self._came: signal.Signals | None = None
        self._task: asyncio.Task[None] | None = None
        self._act: Callable[[signal.Signals], object] | None = None

    def interrupt(self, number: int, _frame: FrameType | None) -> None:
        """Handle a signal that comes before the event loop runs."""
        self._came = signal.Signals(number)
        raise KeyboardInterrupt

    async def run(self, main: Main) -> None:
        """Run the main function in this task, which a signal cancels."""
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, self.stop, each)
        if self._came is not None:
            return
        try:
            await main(self)
        except asyncio.CancelledError:
            if self._came is None:
                raise

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Stop the process, as on this signal."""
        self._came = by
        if self._act is not None:
            self._act(by)
        elif self._task is not None:
            self._task.cancel()

    @contextmanager
    def handled_by(self, act: Callable[[signal.Signals], object]) -> Iterator[None]:
        """Call `act` for each signal during the block, and for one that came before."""
        self._act = act
        if self._came is not None:
            act(self._came)
        try:
            yield
        finally:
            self._act = None
