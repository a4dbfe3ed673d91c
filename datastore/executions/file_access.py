"""The access to the files of an execution, and to what is told of the rows in them."""

from typing import Final

from penstock.datastore.errors import NotPermitted
from penstock.datastore.executions.records import Execution
from penstock.datastore.roles import Caller, Role

FILE_ACCESS_FIELDS: Final = (
    "keeps_rows",
    "rows_commit",
    "row_groups",
    "owner",
    "created_by",
    "granted_through",
)
"""The fields of an execution that decide on the access to its files."""


def require_whole_files(caller: Caller, execution: Execution) -> None:
    """Refuse files with rows of all groups to whoever reads only some of these."""
    if not sees_whole_files(caller, execution):
        words = f"These hold rows of all groups, and need the role READER at {execution.owner}."
        raise NotPermitted(words)


def sees_whole_files(caller: Caller, execution: Execution) -> bool:
    """Whether a caller may read the files of an execution, and what is told of their rows.

    Its creator brought these rows, but may call with fewer roles than those that wrote them.
    """
    owner = execution.owner
    # Earlier releases did not note that rows without a group are kept, but their commit.
    may_keep = execution.keeps_rows or execution.rows_commit is not None
    if not may_keep or owner is None or caller.has_role(Role.READER, owner):
        return True
    return execution.created_by == caller.user_id and _reads_what_it_wrote(caller, execution)


def _reads_what_it_wrote(caller: Caller, execution: Execution) -> bool:
    groups = execution.row_groups
    if groups is None:
        return False
    if not groups:
        return any(map(caller.sees, execution.granted_through))
    return all(caller.has_role(Role.READER, group) for group in groups)
