"""Walks over the files of our own in a bucket, beside which others may keep objects."""

from collections.abc import AsyncGenerator

from penstock.datastore.objects.checks import is_key
from penstock.datastore.objects.port import LISTING, Files


async def walk_keys(files: Files, prefix: str) -> AsyncGenerator[list[str]]:
    """Yield the keys that begin so, page by page; a page may have none.

    Objects whose keys no file of ours has are left out.
    """
    after = ""
    while True:
        page = await files.list(prefix, after)
        yield [key for key in page if is_key(key)]
        if len(page) < LISTING:
            return
        after = page[-1]


async def walk_numbered_keys(files: Files, prefix: str, most: int) -> AsyncGenerator[str]:
    """Yield the keys in which a number up to `most` follows the prefix, and ends at `.` or `-`."""
    async for keys in walk_keys(files, prefix):
        for key in keys:
            number = key.removeprefix(prefix).partition(".")[0].partition("-")[0]
            if number.isdecimal() and int(number) <= most:
                yield key


async def delete_below(files: Files, prefix: str) -> None:
    """Delete the files whose keys begin so, also those that come meanwhile."""
    found = True
    while found:
        found = False
        async for keys in walk_keys(files, prefix):
            found = found or bool(keys)
            for key in keys:
                await files.delete(key)
