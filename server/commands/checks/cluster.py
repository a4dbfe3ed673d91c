"""Checks that the machines of a cluster can read the files of executions."""

from penstock.resolvers.findings import Findings, ok, warn
from penstock.server.settings.settings import Settings


async def check_cluster(settings: Settings) -> Findings:
    """Name the address at which machines read files; nothing without a cluster."""
    if settings.dask is None:
        return
    if settings.bucket is not None:
        yield ok("cluster", f"The machines of {settings.dask} read files from the bucket.")
    elif settings.public_url is not None:
        yield ok("cluster", f"The machines of {settings.dask} read files at {settings.public_url}.")
    else:
        url = f"http://{settings.host}:{settings.port}"
        advice = "Set PENSTOCK_PUBLIC_URL to a URL of the server that the machines reach."
        yield warn("cluster", f"The machines of {settings.dask} read files at {url}.", advice)
