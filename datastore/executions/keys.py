"""Where the files of an execution lie."""

from penstock.datastore.executions.records import Execution


def ingest_key(execution: Execution) -> str:
    """Where the input is uploaded to."""
    pipeline, version = execution.pipeline_id, execution.pipeline_version
    return f"pipelines/{pipeline}/{version}/ingest/{pipeline}-{version}-{execution.ingest}.txt"


def input_key(execution: Execution) -> str:
    """The input as it was when the execution began; uploads no longer reach it."""
    return f"{_folder(execution)}/input.txt"


def output_key(execution: Execution) -> str:
    return f"{_folder(execution)}/output.txt"


def errors_key(execution: Execution) -> str:
    """The rejected rows."""
    return f"{_folder(execution)}/errors.csv"


def staged(key: str, fence: int) -> str:
    """Where an outside worker uploads a file to, which no other claim shares."""
    return f"{key}.{fence}"


def all_keys(execution: Execution) -> tuple[str, ...]:
    made = (output_key(execution), errors_key(execution))
    claims = range(1, execution.fence + 1)
    uploads = [staged(key, fence) for fence in claims for key in made]
    return (ingest_key(execution), input_key(execution), *made, *uploads)


def _folder(execution: Execution) -> str:
    pipeline, version = execution.pipeline_id, execution.pipeline_version
    return f"pipelines/{pipeline}/{version}/executions/{execution.id}"
