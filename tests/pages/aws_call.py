"""Calls an operation of AWS at the emulator: SERVICE OPERATION --option value ...

AWS's own command line is 100 MB, and maps operations to the same API.
"""

import json
import os
import sys
from collections.abc import Sequence

import boto3

SERVICES = {"s3api": "s3"}
ENDPOINTS = {"s3api": "PENSTOCK_S3_ENDPOINT_URL", "dynamodb": "PENSTOCK_ENDPOINT_URL"}


def call_operation(arguments: Sequence[str]) -> None:
    """Call the operation; a refused call ends with an exception."""
    service, operation, *options = arguments
    client = boto3.client(
        SERVICES.get(service, service), endpoint_url=os.environ[ENDPOINTS[service]]
    )
    call = getattr(client, operation.replace("-", "_"))
    call(**{_parameter(name): _value(text) for name, text in _pairs(options)})


def _pairs(options: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(options[::2], options[1::2], strict=True))


def _parameter(option: str) -> str:
    return "".join(word.capitalize() for word in option.removeprefix("--").split("-"))


def _value(text: str) -> object:
    """Return JSON, the shorthand `A=x,B=y`, or the text itself."""
    if text.startswith("{"):
        return json.loads(text)
    if "=" not in text:
        return text
    pairs = (pair.split("=", 1) for pair in text.split(","))
    return {name: {"true": True}.get(value, value) for name, value in pairs}


if __name__ == "__main__":
    call_operation(sys.argv[1:])
