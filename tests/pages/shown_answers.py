"""Compares the answer that a page shows with a real one.

What differs from run to run is not compared but remembered: an id, a time, a cursor, a token or a
URL of the page stands for the real one from then on. `...` stands for anything.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z"
_OPAQUE = r"(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{24,}={0,2}"
_PASSWORD = r"(?<![\w-])[a-z2-9]{26}(?![\w-])"
_VARYING = re.compile(rf"{_UUID}|{_TIME}|{_OPAQUE}|{_PASSWORD}")
_GAP = "..."


class AnswerDiffers(AssertionError):
    """The page shows another answer than the real one."""


class Names:
    """Maps the texts of a page to those of this run."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._real = dict(known)

    def in_this_run(self, text: str) -> str:
        """Return the text with everything that is known by another value in this run."""
        for shown in sorted(self._real, key=len, reverse=True):
            text = text.replace(shown, self._real[shown])
        return text

    def compare_json(self, shown: str, real: Any) -> None:
        """Compare a JSON answer; raise `AnswerDiffers` with both."""
        expected = json.loads(shown)
        if not self._fits(expected, real):
            raise AnswerDiffers(f"shown:\n{shown}\nreal:\n{json.dumps(real, indent=2)}")

    def compare_text(self, shown: str, real: str) -> None:
        """Compare what commands print, line by line; raise `AnswerDiffers` with both."""
        if not self._fit_lines(shown.rstrip().splitlines(), real.rstrip().splitlines()):
            raise AnswerDiffers(f"shown:\n{shown}\nreal:\n{real}")

    def _fit_lines(self, shown: list[str], real: list[str]) -> bool:
        """Compare lines; a line of three dots stands for any number of lines."""
        if _GAP not in shown:
            return len(shown) == len(real) and all(map(self._fits_text, shown, real))
        at = shown.index(_GAP)
        after = len(shown) - at - 1
        return (
            len(real) >= at + after
            and self._fit_lines(shown[:at], real[:at])
            and self._fit_lines(shown[at + 1 :], real[len(real) - after :])
        )

    def _fits(self, shown: Any, real: Any) -> bool:
        if isinstance(shown, dict) and isinstance(real, dict):
            return list(shown) == list(real) and all(
                self._fits(value, real[name]) for name, value in shown.items()
            )
        if isinstance(shown, list) and isinstance(real, list):
            return len(shown) == len(real) and all(map(self._fits, shown, real))
        if isinstance(shown, str) and isinstance(real, str):
            return self._fits_text(shown, real)
        return type(shown) is type(real) and bool(shown == real)

    def _fits_text(self, shown: str, real: str) -> bool:
        if shown == _GAP:
            return True
        found = re.fullmatch(self._pattern(shown), real)
        if found is None:
            return False
        varying = _VARYING.findall(shown)
        self._real |= dict(zip(varying, found.groups(), strict=True))
        return True

    def _pattern(self, shown: str) -> str:
        """Return the pattern of a text, with a group for each part that varies."""
        parts, at = [], 0
        for part in _VARYING.finditer(shown):
            parts += [self._pattern_of_text(shown[at : part.start()]), f"({_kind(part[0])})"]
            at = part.end()
        return "".join([*parts, self._pattern_of_text(shown[at:])])

    def _pattern_of_text(self, shown: str) -> str:
        return ".*".join(re.escape(self.in_this_run(part)) for part in shown.split(_GAP))


def _kind(varying: str) -> str:
    """Return the pattern of the kind of text that the page shows an example of."""
    return next(kind for kind in (_UUID, _TIME, _OPAQUE, _PASSWORD) if re.fullmatch(kind, varying))
