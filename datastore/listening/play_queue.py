"""The play queue, which a listener takes from one player to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.listening.records import PlayQueue
from penstock.datastore.table.items import load, overwrite
from penstock.datastore.table.layout import PLAY_QUEUE
from penstock.datastore.table.port import Item, Key
from penstock.datastore.text import is_id, line_problem

MAX_QUEUED = 1_000
MAX_PLAYER_NAME = 128
MAX_POSITION_MS: Final = 2**31 - 1
"""The length of the longest track, and the largest number that GraphQL can send."""


@dataclass(frozen=True, slots=True)
class QueueRepository:
    """The caller's only play queue; the last write wins."""

    access: Access

    async def get(self) -> PlayQueue:
        """Get the queue: `pk = U:<user>, sk = PQ`; an empty one if none was saved."""
        item = (await self.access.table.get([self._key], consistent=True)).items.get(self._key, {})
        queue = load(PlayQueue, item)
        # Earlier releases let music players save any position.
        return replace(queue, position_ms=min(queue.position_ms, MAX_POSITION_MS))

    async def save(
        self, audio_ids: Sequence[str], index: int, position_ms: int, changed_by: str | None = None
    ) -> PlayQueue:
        """Replace the queue; `index` is the current track, `position_ms` the position in it.

        Raises NotFound for a track that is not the caller's. A queue may outlive its tracks, so
        a read checks them as well.
        """
        if len(audio_ids) > MAX_QUEUED:
            raise LimitExceeded("tracks in a queue", MAX_QUEUED, len(audio_ids), ("audioIds",))
        problems = _problems(audio_ids, index, position_ms)
        if changed_by is not None and (words := line_problem(changed_by, MAX_PLAYER_NAME)):
            problems.append(FieldProblem(["changedBy"], words))
        if problems:
            raise Invalid(problems)
        await TrackReader(self.access).require_many(audio_ids, "audioIds")
        queue = PlayQueue(
            audio_ids=tuple(audio_ids),
            index=index,
            position_ms=position_ms,
            updated_at=self.access.clock.timestamp(),
            changed_by=changed_by,
        )
        item: Item = {
            **self._key._asdict(),
            "audioIds": list(audio_ids),
            "index": index,
            "positionMs": position_ms,
            "updatedAt": queue.updated_at,
        }
        if changed_by is not None:
            item["changedBy"] = changed_by
        await self.access.table.transact([overwrite(PlayQueue, item)])
        return queue

    @property
    def _key(self) -> Key:
        return PLAY_QUEUE.key(user=self.access.caller.user_id)


def _problems(audio_ids: Sequence[str], index: int, position_ms: int) -> list[FieldProblem]:
    problems = []
    if not all(map(is_id, audio_ids)):
        problems.append(FieldProblem(["audioIds"], "must be ids of audio"))
    if not 0 <= index < max(len(audio_ids), 1):
        problems.append(FieldProblem(["index"], "must count, from 0, one of the tracks"))
    if not 0 <= position_ms <= MAX_POSITION_MS:
        problems.append(FieldProblem(["positionMs"], f"must be 0 to {MAX_POSITION_MS}"))
    return problems
