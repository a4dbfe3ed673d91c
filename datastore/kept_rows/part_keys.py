"""The files of rows that are kept: their keys, and their removal."""

from penstock.datastore.objects.own_keys import delete_below, walk_numbered_keys
from penstock.datastore.objects.port import Files


def part_key(pipeline: str, name: str) -> str:
    """The key of a part's file: Hive-style, so that other engines find a pipeline's files."""
    return f"{rows_folder(pipeline)}{name}.parquet"


def rows_folder(pipeline: str) -> str:
    return f"results/pipeline={pipeline}/"


async def delete_parts_of(files: Files, pipeline: str, execution: str) -> None:
    """Delete the files of parts of an execution, also those that no list names."""
    await delete_below(files, f"{rows_folder(pipeline)}{execution}-")


async def delete_lost_parts(files: Files, pipeline: str, execution: str, fence: int) -> None:
    """Delete the files of parts that claims of an execution wrote, up to this fence.

    No list may name one of them: each is of a claim that was lost, or ended in failure.
    """
    prefix = f"{rows_folder(pipeline)}{execution}-"
    async for key in walk_numbered_keys(files, prefix, fence):
        await files.delete(key)


async def delete_all_parts(files: Files, pipeline: str) -> None:
    """Delete all files of rows of a pipeline, also those that no list and no execution names."""
    await delete_below(files, rows_folder(pipeline))
