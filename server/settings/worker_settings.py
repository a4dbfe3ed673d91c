"""The settings of serving processes, of workers, and of the Dask cluster."""

from pydantic import Field
from pydantic_settings import BaseSettings


class WorkerSettings(BaseSettings):
    """The settings of serving processes, of workers, and of the Dask cluster."""

    workers: int = Field(
        1,
        gt=0,
        le=64,
        description="Number of processes that serve the port. Each uses one core; a dead one is "
        "replaced.",
    )
    execution_workers: int = Field(
        2,
        ge=0,
        le=64,
        description="Most processes of this server that run executions. They start when an "
        "execution is ready and end after an idle minute; 0 leaves executions to `penstock "
        "worker`.",
    )
    execution_cores: int = Field(
        0,
        ge=0,
        le=64,
        description="Processor cores that one execution with an input of more than 8 MB uses; 1 "
        "keeps it in one process, 0 means as many as the machine has.",
    )
    execution_poll_seconds: float = Field(
        5,
        gt=0,
        le=60,
        description="Seconds between two searches for executions that became ready on other "
        "servers. Those of the same server start at once.",
    )
    keep_executions_days: int = Field(
        30,
        ge=1,
        le=36_500,
        description="Days for which an execution is kept after its end, with its files and its "
        "history.",
    )
    keep_history_days: int = Field(
        365,
        ge=1,
        le=36_500,
        description="Days for which entries of the history of groups and resources are kept.",
    )
    upload_poll_seconds: float = Field(
        10,
        gt=0,
        le=3600,
        description="Seconds between two searches for uploaded inputs that no client has "
        "confirmed. Each search costs a request to S3 for each execution that waits for its input.",
    )
    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://[^\s/?#@]+:\d{1,5}$",
        description="Address of a Dask scheduler (`tcp://scheduler:8786`). Workers then transform "
        "large inputs on its cluster. Needs the extra `dask`.",
    )
