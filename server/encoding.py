"""JSON as it leaves the server: UTF-8, exact decimals, no NaN."""

from decimal import Decimal

import orjson


def encode(value: object) -> bytes:
    """Write JSON; a Decimal keeps every digit. TypeError for what JSON has no form for."""
    return orjson.dumps(value, default=_exact)


def _exact(value: object) -> orjson.Fragment:
    if type(value) is Decimal and value.is_finite():
        return orjson.Fragment(str(value))
    raise TypeError(f"JSON has no form for {type(value).__name__}.")
