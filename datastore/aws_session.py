"""Sessions of AWS's client library that share what takes long to read."""

import asyncio
from asyncio import to_thread
from functools import cache
from typing import Final

import aioboto3
from aiobotocore.session import AioSession
from botocore.loaders import Loader, create_loader

_WARM: Final[set[str]] = set()


def aws_session(
    access_key: str | None = None, secret_key: str | None = None, token: str | None = None
) -> aioboto3.Session:
    """Make a session; without keys they come from AWS's ordinary chain."""
    session = sharing_session()
    return aioboto3.Session(
        access_key, secret_key, aws_session_token=token, botocore_session=session
    )


def sharing_session() -> AioSession:
    """Make the session below that one: AWS's descriptions of its services are read once."""
    session = AioSession()
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    return session


async def warm_up(service: str) -> None:
    """Make a client in a thread, so that the first one on the event loop takes no time there."""
    if service not in _WARM:
        await to_thread(asyncio.run, _made(service))
        _WARM.add(service)


async def _made(service: str) -> None:
    async with aws_session("none", "none").client(service, region_name="us-east-1"):
        pass


@cache
def _loader(data_path: str | None) -> Loader:
    """Keep what was read: each client would read it anew, for 50 ms of DynamoDB, 300 ms of S3."""
    return create_loader(data_path)
