"""Names of the server's own bucket in rows, which change when its files move to another one."""

import msgspec

from penstock.datastore.table.layout import AUDIO, AUDIO_BY_BUCKET, RUN
from penstock.datastore.table.port import Item
from penstock.datastore.text import escape

_TRACKS = AUDIO.pk.leader, AUDIO.sk.leader
_CLAIMS = AUDIO_BY_BUCKET.pk.leader, AUDIO_BY_BUCKET.sk.leader
_RUNS = RUN.pk.leader, RUN.sk.leader


class BucketNames(msgspec.Struct, frozen=True):
    """The bucket of tracks, and the one by which folders of runs mean the server's own files."""

    tracks: str = ""
    folders: str = ""


def rename_buckets(item: Item, old: BucketNames, new: BucketNames) -> Item:
    """The row with the new names in place of the old ones; other rows stay as they are."""
    pk, sk = str(item["pk"]), str(item["sk"])
    leaders = pk.partition(":")[0], sk.partition(":")[0]
    if leaders == _TRACKS and item["bucket"] == old.tracks and not item.get("connectionId"):
        return {**item, "bucket": new.tracks}
    if leaders == _CLAIMS and AUDIO_BY_BUCKET.sk.parse(sk)["bucket"] == escape(old.tracks):
        renamed = sk.split(":")
        renamed[1] = escape(new.tracks)
        return {**item, "sk": ":".join(renamed)}
    saved_to, folder = item.get("savedTo"), f"s3://{old.folders}/"
    if leaders == _RUNS and isinstance(saved_to, str) and saved_to.startswith(folder):
        return {**item, "savedTo": f"s3://{new.folders}/{saved_to.removeprefix(folder)}"}
    return item
