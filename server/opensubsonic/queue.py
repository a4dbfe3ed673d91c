"""The play queue, by the id of its current track or by its index."""

from collections.abc import Sequence

from penstock.datastore.audio.records import Audio
from penstock.datastore.listening.records import PlayQueue
from penstock.server.opensubsonic.answers import Fields, SubsonicCode, SubsonicError
from penstock.server.opensubsonic.browsing import read_tracks
from penstock.server.opensubsonic.call import Call
from penstock.server.opensubsonic.elements import song_elements


async def get_play_queue(call: Call) -> Fields:
    queue = await call.session.listening.queue.get()
    if queue.updated_at is None:
        return {}
    current = {"current": queue.audio_ids[queue.index]} if queue.audio_ids else {}
    tracks = await read_tracks(call, list(queue.audio_ids))
    return {"playQueue": {**current, **await _describe(call, queue, tracks)}}


async def get_play_queue_by_index(call: Call) -> Fields:
    queue = await call.session.listening.queue.get()
    if queue.updated_at is None:
        return {}
    tracks = await read_tracks(call, list(queue.audio_ids))
    # Deleted tracks are not shown, so the current one is counted among the others.
    present = {track.id for track in tracks}
    before = sum(id in present for id in queue.audio_ids[: queue.index])
    current = {"currentIndex": min(before, len(tracks) - 1)} if tracks else {}
    return {"playQueueByIndex": {**current, **await _describe(call, queue, tracks)}}


async def _describe(call: Call, queue: PlayQueue, tracks: Sequence[Audio]) -> Fields:
    return {
        "position": queue.position_ms,
        "username": call.user,
        "changed": queue.updated_at,
        "changedBy": queue.changed_by or "",
        "entry": await song_elements(call.session, tracks),
    }


async def save_play_queue(call: Call) -> Fields:
    ids, current = call.parameters.all("id"), call.parameters.get("current")
    if ids and not current:
        call.parameters.require("current")
    if current and current not in ids:
        message = "The current track must be one of the queue."
        raise SubsonicError(SubsonicCode.GENERIC, message)
    return await _save(call, ids, ids.index(current) if current else 0)


async def save_play_queue_by_index(call: Call) -> Fields:
    ids = call.parameters.all("id")
    index = call.parameters.required_number("currentIndex") if ids else 0
    return await _save(call, ids, index)


async def _save(call: Call, ids: list[str], index: int) -> Fields:
    position = call.parameters.number("position", 0)
    player = call.parameters.get("c") or None
    await call.session.listening.queue.save(ids, index, position, player)
    return {}
