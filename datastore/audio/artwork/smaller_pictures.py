"""Smaller pictures of covers, made by Pillow in threads at which users take turns."""

import warnings
from functools import partial
from importlib.util import find_spec
from io import BytesIO
from time import thread_time
from typing import Final, NamedTuple

from penstock.datastore.errors import BadArgument
from penstock.datastore.interruptible_work import limit_cpu_time
from penstock.datastore.turn_threads import TurnThreads, WaitingLimits

SIZES: Final = (64, 128, 256, 512, 1024)
"""The longest sides in pixels; few of them, so that what was made is used again."""

MAX_PIXELS: Final = 25_000_000
"""Pixels of a picture that is decoded, which take four bytes each; larger ones are not opened."""

MAX_PASSES: Final = 100
"""Passes over a JPEG, each of which visits all pixels, however few bytes it has; ten are usual."""

CPU_SECONDS: Final = 5.0
"""Seconds of processor time after which Pillow begins no further part of a picture."""

_KINDS: Final = ("JPEG", "PNG", "GIF", "WEBP")
_OPAQUE: Final = ("RGB", "L", "CMYK", "YCbCr")
_QUALITY: Final = 85
WAITING: Final = WaitingLimits(of_one=64, in_all=1_024)
"""The pictures that may wait: a call that is cut off leaves its own in the line."""

_THREADS: Final = TurnThreads("covers", 2, 1, WAITING)
_JPEG: Final = b"\xff\xd8"
_PASS: Final = b"\xff\xda"
"""The marker before a pass, which the data of passes cannot contain."""


class SmallerPicture(NamedTuple):
    """A picture with its media type."""

    content: bytes
    media_type: str


def choose_size(wanted: int) -> int | None:
    """Choose the size to make for a wanted one: the next that is as large; None above all.

    Raises BadArgument for no size.
    """
    if wanted < 1:
        raise BadArgument("The size of a cover is 1 pixel or more.", ("size",))
    return next((size for size in SIZES if size >= wanted), None)


def is_available() -> bool:
    """Whether Pillow is installed, the extra `images`."""
    return find_spec("PIL") is not None


async def make_smaller(content: bytes, size: int, user: str) -> tuple[SmallerPicture | None, float]:
    """Make a picture whose sides have at most so many pixels; also returns the processor time.

    None for a picture that is as small already, cannot be read, or is more work than bounds allow.
    Raises RateLimited or Unavailable where too many wait.
    """
    return await _THREADS.run(partial(_shrink_timed, content, size), user)


def _shrink_timed(content: bytes, size: int) -> tuple[SmallerPicture | None, float]:
    began = thread_time()
    return _shrink(content, size), thread_time() - began


def _shrink(content: bytes, size: int) -> SmallerPicture | None:
    from PIL import Image  # noqa: PLC0415 - the extra may be missing

    if content.startswith(_JPEG) and content.count(_PASS) > MAX_PASSES:
        return None
    # A picture can be made to cause thousands, which would fill the log.
    warnings.filterwarnings("ignore", module=r"PIL\.")
    try:
        # Only these: each further format is code that a user could reach.
        with (
            limit_cpu_time(thread_time() + CPU_SECONDS),
            Image.open(BytesIO(content), formats=_KINDS) as picture,
        ):
            width, height = picture.size
            if max(width, height) <= size or width * height > MAX_PIXELS:
                return None
            picture.draft("RGB", (size, size))
            picture.load()
            # A text of a PNG may have the name of anything that Pillow knows of a picture.
            picture.info = {
                name: known for name, known in picture.info.items() if not isinstance(known, str)
            }
            is_opaque = picture.mode in _OPAQUE
            plain = picture.convert("RGB" if is_opaque else "RGBA")
    except Exception:  # the library may raise anything for a picture that is made to do damage
        return None
    # Comments and profiles of any length would be written again.
    plain.info.clear()
    plain.thumbnail((size, size), reducing_gap=2.0)
    made = BytesIO()
    if is_opaque:
        plain.save(made, "JPEG", quality=_QUALITY)
        return SmallerPicture(made.getvalue(), "image/jpeg")
    plain.save(made, "PNG")
    return SmallerPicture(made.getvalue(), "image/png")
