"""Sessions of AWS's client library, which share the descriptions of AWS's services."""

import asyncio
from asyncio import to_thread
from functools import cache
from typing import Any, Final

import aioboto3
from aiobotocore.config import AioConfig  # noqa: TID251 - here the rule is kept
from aiobotocore.session import AioSession
from botocore.loaders import Loader, create_loader

from penstock.datastore.aws.answers import DirectSession
from penstock.datastore.aws.markup import parse_time

_WARMED_SERVICES: Final[set[str]] = set()
_SESSION_VARIABLES: Final = {"region": ("region", ["AWS_REGION", "AWS_DEFAULT_REGION"], None, None)}
"""The variables of the region, in the order of AWS's command line; botocore knows only the last."""


def aws_session(
    access_key: str | None = None, secret_key: str | None = None, token: str | None = None
) -> aioboto3.Session:
    """Make a session; without keys, the credentials come from AWS's ordinary chain."""
    session = shared_loader_session()
    return aioboto3.Session(
        access_key, secret_key, aws_session_token=token, botocore_session=session
    )


def client_config(session: type[DirectSession] = DirectSession, **options: Any) -> AioConfig:
    """Make the configuration of a client that bounds answers and follows no redirect."""
    return AioConfig(http_session_cls=session, **options)


def shared_loader_session() -> AioSession:
    """Make a botocore session that shares the descriptions of AWS's services with all others."""
    session = AioSession(session_vars=_SESSION_VARIABLES)
    session.register_component("data_loader", _loader(session.get_config_variable("data_path")))
    session.get_component("response_parser_factory").set_parser_defaults(
        timestamp_parser=parse_time
    )
    return session


async def warm_up(service: str) -> None:
    """Make one client in a thread first, so that the first client on the event loop is quick."""
    if service not in _WARMED_SERVICES:
        await to_thread(asyncio.run, _make_client(service))
        _WARMED_SERVICES.add(service)


async def _make_client(service: str) -> None:
    async with aws_session("none", "none").client(service, region_name="us-east-1"):
        pass


@cache
def _loader(data_path: str | None) -> Loader:
    """Make one loader for all clients.

    A client that reads the descriptions itself takes 50 ms for DynamoDB and 300 ms for S3.
    """
    return create_loader(data_path)
