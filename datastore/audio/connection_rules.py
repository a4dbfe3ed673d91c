"""The rules of what users say of buckets of their own."""

import re
from collections.abc import Iterator
from typing import Final

from penstock.datastore.audio.records import Connection
from penstock.datastore.errors import FieldProblem
from penstock.datastore.text import text_problem

MAX_NAME: Final = 128
_BUCKET: Final = re.compile(r"[a-z0-9](?!.*\.\.)[a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,3}-\d{1,2}|auto", re.ASCII)
_ROLE: Final = re.compile(r"arn:aws(-[a-z]+)*:iam::\d{12}:role/[\w+=,.@/-]{1,512}", re.ASCII)
_ACCESS_KEY: Final = re.compile(r"[\w+=,.@/-]{4,128}", re.ASCII)
_SECRET_KEY: Final = re.compile(r"[\x21-\x7e]{8,512}", re.ASCII)


def connection_problems(connection: Connection) -> Iterator[FieldProblem]:
    """Every broken rule of a connection but those of its endpoint."""
    if message := text_problem(connection.name, MAX_NAME):
        yield FieldProblem(["name"], message)
    if not _BUCKET.fullmatch(connection.bucket):
        yield FieldProblem(["bucket"], "is no name of a bucket")
    if not _REGION.fullmatch(connection.region):
        yield FieldProblem(["region"], "is no name of a region")
    if connection.role_arn is not None and not _ROLE.fullmatch(connection.role_arn):
        yield FieldProblem(["roleArn"], "is no ARN of a role")


def key_problems(access_key: str, secret_key: str) -> Iterator[FieldProblem]:
    """Every broken rule of a pair of keys, in words that repeat nothing of them."""
    if not _ACCESS_KEY.fullmatch(access_key):
        yield FieldProblem(["accessKeyId"], "is no id of an access key")
    if not _SECRET_KEY.fullmatch(secret_key):
        yield FieldProblem(["secretAccessKey"], "must be 8 to 512 printable characters")


def shown(access_key: str) -> str:
    """The beginning and the end of an access key's id, where enough lies between them."""
    if len(access_key) < 12:
        return "…"
    return f"{access_key[:4]}…{access_key[-4:]}"
