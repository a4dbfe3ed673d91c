"""The parameters of a call: those of the URL, and those of a form in the body."""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final
from urllib.parse import parse_qsl

from penstock.schema.engine.cost import BODY_BYTES
from penstock.server.opensubsonic.answers import SubsonicCode, SubsonicError

MAX_PARAMETERS: Final = 10_100
"""The most parameters of a call: the ids of as many tracks as a playlist holds, and some more."""

IN_UNIT: Final = 10
"""Parameters that are decoded, and looked for as ids, in one unit."""

ENCODED_IN_UNIT: Final = 100
"""Encoded characters that are decoded in one unit."""

_DIGITS: Final = 15
_CREDENTIALS: Final = re.compile(rb"(?<=&)(?:apiKey|u|p|t|s)=[^&]*")
_MAX_CREDENTIALS: Final = 2_048
_MAX_FOUND: Final = 16


def decoding_units(*encoded: bytes) -> int:
    """The units of decoding and using the query of a URL and the body of a form."""
    size, count = sum(map(len, encoded)), sum(text.count(b"&") for text in encoded)
    characters = sum(text.count(b"%") for text in encoded)
    return size // BODY_BYTES + count // IN_UNIT + characters // ENCODED_IN_UNIT


class Parameters:
    """The parameters of a call by name; a name may come several times.

    `units` is what they cost, of which `paid` is paid already.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], units: int = 0, *, paid: int = 0) -> None:
        self.units: Final = units
        self.paid: Final = paid
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    @classmethod
    def parse(cls, *encoded: bytes, units: int = 0, paid: int = 0) -> "Parameters":
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
        pairs = (pair for pairs in found for pair in pairs)
        return cls(pairs, units, paid=paid)

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
