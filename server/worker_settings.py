"""The settings of the processes that serve, and of those that run executions."""

from pydantic import Field
from pydantic_settings import BaseSettings


class WorkerSettings(BaseSettings):
    """How many processes serve, and who runs executions, and where."""

    workers: int = Field(
        1,
        gt=0,
        le=64,
        description="How many processes serve the port. One uses one core; those that die are "
        "replaced.",
    )
    execution_workers: int = Field(
        2,
        ge=0,
        le=64,
        description="How many processes of this server run executions. They are started when there "
        "is something to run and end after a minute without; 0 leaves it to `penstock worker`.",
    )
    execution_poll_seconds: float = Field(
        5,
        gt=0,
        le=60,
        description="How often is looked for executions that became ready elsewhere, in seconds. "
        "Those of the same server are begun at once.",
    )
    upload_poll_seconds: float = Field(
        10,
        gt=0,
        le=3600,
        description="How often a server looks for inputs that were uploaded without anybody saying "
        "so, in seconds. Each time costs a request to S3 for each execution that waits for one.",
    )
    dask: str | None = Field(
        None,
        pattern=r"^(tcp|tls)://[^\s/]+:\d{1,5}$",
        description="Address of a Dask scheduler (`tcp://scheduler:8786`), on whose cluster "
        "whoever runs executions has large inputs worked on. Needs the extra `penstock[dask]`.",
    )
