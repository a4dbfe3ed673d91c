"""The upload of an execution's input: the form to upload with, and its confirmation."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import packed_units
from penstock.datastore.errors import IllegalState, NotFound, NotPermitted
from penstock.datastore.executions.access import require_control, require_open, require_reach
from penstock.datastore.executions.files import delete_used_upload, ingest_key, input_key
from penstock.datastore.executions.lists.listing import ExecutionFilter, ListExecutions
from penstock.datastore.executions.reading import ReadExecutions, find_execution
from penstock.datastore.executions.records import (
    Execution,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.revoked_pins import require_pins
from penstock.datastore.executions.start import make_ready
from penstock.datastore.executions.unattended_starts import needs_starter
from penstock.datastore.executions.upload_places import awaits_upload
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.input_files.convert import stored_kind
from penstock.datastore.objects.port import Files, UploadForm
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.pages import Window
from penstock.datastore.text import is_id
from penstock.transform.problems import InputRefused

CONTENT_TYPE = "text/csv"
KEY_TOLERANCE = timedelta(seconds=10)
"""The largest difference between the time in a key and the time in the id, made a little later."""

MAX_CANDIDATES = 1000
_INGEST_KEY = re.compile(
    r"pipelines/(?P<pipeline>[0-9a-f-]{36})/\d+/ingest/(?P=pipeline)-\d+-"
    r"(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)(?:-(?P<id>[0-9a-f-]{36}))?(?:_\d+)?\.txt",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Uploads:
    """Uploads of inputs for the caller; `on_ready` is called for each confirmed upload."""

    access: Access
    rules: ExecutionRules
    files: Files
    on_ready: Callable[[], None]

    async def form(self, id: str) -> UploadForm | None:
        """The form that uploads the input, for who created the execution or owns the pipeline.

        None if the input was uploaded already, or if the time for the upload is over.
        """
        execution, pipeline = await ReadExecutions(self.access).one(id)
        require_control(self.access.caller, pipeline, execution)
        if not awaits_upload(execution) or execution.upload_until is None:
            return None
        left = datetime.fromisoformat(execution.upload_until) - self.access.clock.now()
        if left.total_seconds() < 1:
            return None
        return await self.files.presign_upload(
            ingest_key(execution),
            max_bytes=self.rules.max_bytes,
            content_type=CONTENT_TYPE,
            expires_in=int(left.total_seconds()),
        )

    async def confirm(self, id: str) -> Execution:
        """Confirm that the input was uploaded, which makes the execution ready to run.

        A repeated call changes nothing. Raises IllegalState if there is no input, and if the
        pipeline or its group is not enabled, and NotPermitted for a caller who neither created the
        execution nor contributes to the owner group, and where it uses what was revoked meanwhile.
        """
        execution, pipeline = await ReadExecutions(self.access).one(id)
        require_control(self.access.caller, pipeline, execution)
        await require_reach(self.access, pipeline, execution)
        if execution.ready_at is None:
            require_open(pipeline)
            await require_enabled(self.access, pipeline.owner)
            await require_pins(self.access, pipeline.owner, execution)
        return await self._confirm(execution)

    async def _confirm(self, execution: Execution) -> Execution:
        if execution.ready_at is not None:
            # An earlier release ends the form last, and may have been cut off before.
            await self.files.refuse_uploads(ingest_key(execution))
            await delete_used_upload(self.files, execution)
            return execution
        if not awaits_upload(execution):
            raise IllegalState(f"It is {execution.state.value}.", execution.state.name)
        user = self.access.caller.user_id
        confirmed = await make_ready(self.access, self.files, execution, user)
        if confirmed is None:
            # A cancellation removes the upload, and so does another confirmation.
            current = (await ReadExecutions(self.access).one(execution.id))[0]
            if current.ready_at is not None:
                return current
            raise _not_ready_error(current)
        if confirmed.ready_at is None:
            raise _not_ready_error(confirmed)
        self.on_ready()
        await self._pay_conversion(confirmed)
        return confirmed

    async def _pay_conversion(self, execution: Execution) -> None:
        """Let the creator owe what a worker does to make CSV of an input of another kind.

        Nobody else pays for a file that they did not send, such as a bucket that told of it.
        """
        units = packed_units(execution.bytes_total or 0)
        if not units or execution.created_by != self.access.caller.user_id:
            return
        # The worker says what is wrong with an input that is refused, or gone already.
        with suppress(InputRefused, NotFound):
            if await stored_kind(self.files, input_key(execution)) is not None:
                self.access.work.owe(units)

    async def confirm_key(self, key: str) -> Execution | None:
        """Confirm the upload under this object key; None if no execution has this key."""
        if (named := _INGEST_KEY.fullmatch(key)) is None or not is_id(named["pipeline"]):
            return None
        if named["id"] is None:
            return await self._confirm_earlier_key(key, named)
        if not is_id(named["id"]):
            return None
        execution = await find_execution(self.access.table, named["id"])
        if execution is None or ingest_key(execution) != key:
            return None
        return await self._confirm_told(execution)

    async def _confirm_earlier_key(self, key: str, named: re.Match[str]) -> Execution | None:
        """Confirm an upload for an execution of an earlier release, whose key has no id.

        The index may not list a new execution yet; maintenance then finds the upload later.
        """
        try:
            made = datetime.fromisoformat(named["moment"])
            listed = ExecutionFilter(since=made - KEY_TOLERANCE, until=made + KEY_TOLERANCE)
        except (ValueError, OverflowError):
            return None  # no execution was made at such a time
        pipeline = await ResourceReader(PIPELINE, self.access).one(named["pipeline"])
        page = await ListExecutions(self.access).page(pipeline, listed, Window(size=MAX_CANDIDATES))
        for _, execution in page.entries:
            if ingest_key(execution) == key:
                return await self._confirm_told(execution)
        return None

    async def _confirm_told(self, execution: Execution) -> Execution:
        """Confirm an upload that an event tells of.

        Raises NotPermitted where a caller has to start the execution, unless its creator told.
        """
        is_own = execution.created_by == self.access.caller.user_id
        if not is_own and await needs_starter(self.access, execution):
            raise NotPermitted("Only a caller who may start it now starts it.")
        return await self.confirm(execution.id)


def _not_ready_error(execution: Execution) -> IllegalState:
    state = execution.state
    waits = state is ExecutionState.WAITING
    words = "Nothing was uploaded yet." if waits else f"It is {state.value}."
    return IllegalState(words, state.name)
