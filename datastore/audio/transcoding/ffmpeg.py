"""Conversions of audio files by FFmpeg, in few processes, bounded in time and memory."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from asyncio import CancelledError, get_running_loop
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Final, NamedTuple, Protocol

from penstock.datastore.audio.records import AudioFormat
from penstock.datastore.audio.transcoding.formats import Conversion
from penstock.datastore.errors import IllegalState
from penstock.datastore.turn_threads import Turns, WaitingLimits

MAX_SECONDS: Final = 300
"""The seconds of processor time, and twice as many of a clock, after which a conversion ends."""

MAX_MEMORY: Final = 2 * 1024**3
"""Bytes of address space of a process."""

MAX_OUTPUT: Final = 512 * 1024**2
"""Bytes of a converted file."""

WAITING: Final = WaitingLimits(of_one=16, in_all=256)
"""The conversions that may wait: a call that is cut off leaves its own in the line."""

_MOST_OF_A_CHANNEL: Final = 256
"""The kbit/s beyond which libopus refuses to encode a single channel."""

_DEMUXERS: Final = {
    AudioFormat.MP3: "mp3",
    AudioFormat.FLAC: "flac",
    AudioFormat.OGG: "ogg",
    AudioFormat.OPUS: "ogg",
    AudioFormat.M4A: "mov",
    AudioFormat.WAV: "wav",
    AudioFormat.AIFF: "aiff",
}
"""FFmpeg's names of the formats, which it is told: a file could seem to be a list of others."""

_LIMITS: Final = (
    (resource.RLIMIT_CPU, MAX_SECONDS),
    (resource.RLIMIT_AS, MAX_MEMORY),
    (resource.RLIMIT_FSIZE, MAX_OUTPUT),
    (resource.RLIMIT_CORE, 0),
)


_LAUNCHER: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Becomes a program that ends with the process that started it, also if that one is killed.

The first option of `prctl` is `PR_SET_PDEATHSIG`, which asks for a signal when the parent ends; it
may have ended before.
"""


class ConversionResult(NamedTuple):
    """The end of a conversion: whether it succeeded, and its seconds of processor time."""

    succeeded: bool
    seconds: float


class Transcoder(Protocol):
    """Converts audio files."""

    def require_place(self, user: str) -> None:
        """Require that another conversion of the user may wait, and that something converts it.

        Raises RateLimited, Unavailable or IllegalState.
        """

    def turn(self, user: str) -> AbstractAsyncContextManager[None]:
        """Wait for the user's turn to convert. Raises what `require_place` does."""

    async def convert(
        self, source: Path, format: AudioFormat, target: Path, conversion: Conversion
    ) -> ConversionResult:
        """Convert a file, or fail to in MAX_SECONDS. Raises IllegalState without a program."""


class NoTranscoder:
    """The transcoder of a server without FFmpeg."""

    def require_place(self, user: str) -> None:
        words = "This server converts no audio: PENSTOCK_FFMPEG is not set."
        raise IllegalState(words, "NO_TRANSCODER")

    def turn(self, user: str) -> AbstractAsyncContextManager[None]:
        raise AssertionError("nobody has a place")

    async def convert(
        self, source: Path, format: AudioFormat, target: Path, conversion: Conversion
    ) -> ConversionResult:
        raise AssertionError("nobody has a place")


NO_TRANSCODER: Final[Transcoder] = NoTranscoder()


class FFmpeg:
    """Conversions by the program `command`, at most `processes` at once and one for each user."""

    def __init__(self, command: str, processes: int) -> None:
        self._command = command
        self._turns = Turns(processes, 1, WAITING)
        # Threads of its own: each waits for minutes, and those of asyncio read and write all files.
        self._threads = ThreadPoolExecutor(processes, "conversions")

    def require_place(self, user: str) -> None:
        self._turns.require_place(user)

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        await self._turns.enter(user)
        try:
            yield
        finally:
            self._turns.leave(user)

    async def convert(
        self, source: Path, format: AudioFormat, target: Path, conversion: Conversion
    ) -> ConversionResult:
        arguments = [self._command, *_arguments(source, format, target, conversion)]
        process = _LimitedProcess(arguments)
        try:
            return await get_running_loop().run_in_executor(self._threads, process.run)
        except CancelledError:
            process.end()  # A server that stops waits for its threads.
            raise


def _arguments(
    source: Path, format: AudioFormat, target: Path, conversion: Conversion
) -> Sequence[str]:
    """The arguments of a conversion: nothing in them is a text of a user."""
    encoding = conversion.encoding
    reading = ("-nostdin", "-hide_banner", "-loglevel", "error", "-protocol_whitelist", "file")
    source_of = ("-f", _DEMUXERS[format], "-i", f"file:{source}")
    # Only the first sound: a cover would be a video, and tags may hold anything.
    chosen = ("-map", "0:a:0", "-map_metadata", "-1", "-vn", "-sn", "-dn", "-threads", "1")
    # libopus knows few of the orders in which files have more than two channels.
    layouts = "mono|stereo" if conversion.bit_rate <= _MOST_OF_A_CHANNEL else "stereo"
    mixed = ("-af", f"aformat=channel_layouts={layouts}")
    sound = ("-c:a", encoding.encoder, "-b:a", f"{conversion.bit_rate}k")
    return (
        *reading,
        *source_of,
        *chosen,
        *mixed,
        *sound,
        "-f",
        encoding.container,
        f"file:{target}",
    )


class _LimitedProcess:
    """A process with limits of its own, which ends with its time, or from outside."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._pid: int | None = None
        self._is_ended = False

    def end(self) -> None:
        """End the process at once, also one that is to begin; from any thread."""
        self._is_ended = True
        self._kill()

    def run(self) -> ConversionResult:
        """Run the process to its end; blocks its thread."""
        process = self._start()
        self._pid = process.pid
        if self._is_ended:
            self._kill()
        _limit_process(process.pid)
        alarm = Timer(2 * MAX_SECONDS, self.end)
        alarm.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        finally:
            self._pid = None
            alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return ConversionResult(process.returncode == 0, used.ru_utime + used.ru_stime)

    def _start(self) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603 - the command is the operator's
                _bind_to_server(self._arguments),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            words = "The program that PENSTOCK_FFMPEG names cannot be started."
            raise IllegalState(words, "NO_TRANSCODER") from error

    def _kill(self) -> None:
        pid = self._pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _bind_to_server(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments of the same program that ends with this process; raises OSError for none."""
    if sys.platform != "linux":
        return arguments
    program = shutil.which(arguments[0], path=os.defpath)
    if program is None:
        raise FileNotFoundError(arguments[0])
    launcher = (sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()))
    return (*launcher, program, *arguments[1:])


def _limit_process(pid: int) -> None:
    """Limit a process from outside: code of ours in the process itself could meet held locks."""
    if sys.platform == "linux":
        for limit, most in _LIMITS:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, limit, (most, most))
