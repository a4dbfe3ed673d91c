"""Who works on a development server: known without the store, for commands that ask one."""

from datetime import timedelta
from typing import Final

from penstock.datastore.paths import GroupPath

USER: Final = "dev@localhost"
PREFERRED_GROUP: Final = GroupPath("/usa")
VALID: Final = timedelta(hours=12)
