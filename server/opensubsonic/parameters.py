"""The parameters of a call: those of the URL, and those of a form in the body."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final
from urllib.parse import parse_qsl

from penstock.server.opensubsonic.answers import SubsonicCode, SubsonicError

MAX_PARAMETERS: Final = 10_100
"""The most parameters of a call: the ids of as many tracks as a playlist holds, and some more."""

_DIGITS: Final = 15
_CREDENTIALS: Final = re.compile(rb"(?<=&)(?:apiKey|u|p|t|s)=[^&]*")
_MAX_CREDENTIALS: Final = 2_048
_MAX_FOUND: Final = 16


class Parameters:
    """The parameters of a call by name; a name may come several times. `size` is in bytes."""

    def __init__(self, pairs: Iterable[tuple[str, str]], size: int = 0) -> None:
        self.size: Final = size
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    @classmethod
    def parse(cls, *encoded: bytes) -> "Parameters":
        """Read the query of a URL and the body of a form."""
        try:
            found = [
                parse_qsl(text.decode("latin-1"), True, max_num_fields=MAX_PARAMETERS)
                for text in encoded
            ]
        except ValueError:
            raise SubsonicError(
                SubsonicCode.GENERIC, f"A call has at most {MAX_PARAMETERS} parameters."
            ) from None
        return cls((pair for pairs in found for pair in pairs), sum(map(len, encoded)))

    @classmethod
    def credentials(cls, query: bytes, body: bytes) -> "Parameters":
        """Read only what says who calls, without decoding the rest."""
        found = _CREDENTIALS.finditer(b"&" + query + b"&" + body)
        return cls.parse(b"&".join(one[0][:_MAX_CREDENTIALS] for one in islice(found, _MAX_FOUND)))

    def get(self, name: str) -> str | None:
        """Return the first value; None without one."""
        return self._values.get(name, [None])[0]

    def require(self, name: str) -> str:
        """Return the first value; raises a missing parameter for none."""
        found = self.get(name)
        if not found:
            message = f"Required parameter is missing: {name}."
            raise SubsonicError(SubsonicCode.MISSING_PARAMETER, message)
        return found

    def all(self, name: str) -> list[str]:
        """Return every value that is not empty."""
        return [value for value in self._values.get(name, ()) if value]

    def number(self, name: str, default: int, most: int | None = None) -> int:
        """Return a whole number, `most` at most; raises an error for another text."""
        text = self.get(name)
        if not text:
            return default
        found = self._parse(name, text)
        return found if most is None else min(found, most)

    def required_number(self, name: str) -> int:
        """Return a whole number; raises a missing parameter for none."""
        return self._parse(name, self.require(name))

    def numbers(self, name: str) -> list[int]:
        """Return every value as a whole number."""
        return [self._parse(name, text) for text in self.all(name)]

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a value that is `true` or `false`."""
        text = (self.get(name) or "").lower()
        return {"true": True, "false": False}.get(text, default)

    @staticmethod
    def _parse(name: str, text: str) -> int:
        if not (text.isascii() and text.isdecimal()) or len(text) > _DIGITS:
            message = f"The parameter {name} must be a whole number."
            raise SubsonicError(SubsonicCode.GENERIC, message)
        return int(text)
