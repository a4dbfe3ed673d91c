"""Removes files by the beginning of their keys."""

from penstock.datastore.objects.checks import is_key
from penstock.datastore.objects.port import Files


async def delete_below(files: Files, prefix: str) -> None:
    """Delete the files whose keys begin so, also those that come meanwhile.

    Objects whose keys no file of ours has stay.
    """
    after = ""
    while keys := await files.list(prefix, after):
        ours = [key for key in keys if is_key(key)]
        for key in ours:
            await files.delete(key)
        after = "" if ours else keys[-1]
