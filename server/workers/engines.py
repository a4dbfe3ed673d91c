"""Chooses where a worker has rows worked on; a cluster takes an extra that need not be there."""

from importlib import import_module
from importlib.util import find_spec

from penstock.datastore.executions.engine import HERE, Engine
from penstock.server.outcome import CommandFailed, ExitCode
from penstock.server.settings import Settings


def engine_of(settings: Settings) -> Engine:
    """The engine that the settings choose; raises CommandFailed likewise."""
    require_engine(settings)
    if settings.dask is None:
        return HERE
    engine: Engine = import_module("penstock.server.workers.cluster").Cluster(settings.dask)
    return engine


def require_engine(settings: Settings) -> None:
    """Raise CommandFailed where the settings name a cluster and what it takes is not installed."""
    if settings.dask is not None and find_spec("distributed") is None:
        raise CommandFailed(
            "PENSTOCK_DASK names a cluster, but distributed is not installed: "
            "pip install 'penstock[dask]'.",
            code=ExitCode.USAGE,
        )
