"""The access to the files of an execution, and to what is told of the rows in them."""

from penstock.datastore.errors import NotPermitted
from penstock.datastore.executions.records import Execution
from penstock.datastore.roles import Caller, Role


def require_whole_files(caller: Caller, execution: Execution) -> None:
    """Refuse the files of an execution, which hold rows of all groups, to whoever reads only some.

    Its creator brought these rows.
    """
    if not sees_whole_files(caller, execution):
        words = f"These hold rows of all groups, and need the role READER at {execution.owner}."
        raise NotPermitted(words)


def sees_whole_files(caller: Caller, execution: Execution) -> bool:
    """Whether a caller may read the files of an execution, and what is told of their rows."""
    owner = execution.owner
    if not execution.rows_by_group or owner is None or execution.created_by == caller.user_id:
        return True
    return caller.has_role(Role.READER, owner)
