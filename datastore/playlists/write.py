"""Creation and renaming of playlists, and the transaction that every change uses."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, VersionConflict
from penstock.datastore.playlists.header import NOUN, PlaylistChange, require_version
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import MAX_NAME, Playlist
from penstock.datastore.playlists.rows import KIND, header_item, member_item, member_key
from penstock.datastore.playlists.rules import PlaylistRule
from penstock.datastore.resources import idempotency
from penstock.datastore.table.commit import (
    StaleRead,
    Write,
    already_done,
    commit,
    retry_on_conflict,
)
from penstock.datastore.table.port import Exists, Missing, Put, Update
from penstock.datastore.text import name_problem


@dataclass(frozen=True, slots=True)
class PlaylistWriter:
    """Creation and renaming of the caller's playlists; names need not be unique."""

    access: Access

    async def create(
        self, name: str, idempotency_key: str | None = None, rule: PlaylistRule | None = None
    ) -> Playlist:
        """Make an empty playlist, or a smart one: header and member row in one transaction.

        A repeated idempotency key with the same name and rule returns the playlist of the first
        call.
        """
        check_name(name, idempotency_key)
        if rule is not None:
            rule.require_valid()
        playlist = msgspec.structs.replace(new_playlist(self.access, name.strip()), rule=rule)
        writes = [
            Write(Put(header_item(playlist), Missing()), already_done),
            Write(Put(member_item(playlist), Missing())),
        ]
        if idempotency_key is not None:
            ruled = {} if rule is None else {"rule": msgspec.to_builtins(rule)}
            content = {"name": playlist.name, **ruled}
            receipt = idempotency.Receipt(KIND, playlist.id, "", content)
            writes.append(receipt.write(self.access, idempotency_key))
        try:
            await commit(self.access.table, writes)
        except idempotency.RepeatedCall as earlier:
            return await PlaylistReader(self.access).replayed_playlist(earlier.id)
        return playlist

    def draft(self, rule: PlaylistRule) -> Playlist:
        """Make a smart playlist that is not stored; raises Invalid for a rule that is wrong."""
        rule.require_valid()
        return msgspec.structs.replace(new_playlist(self.access, ""), rule=rule)

    async def rename(self, id: str, name: str, expected_version: int | None = None) -> Playlist:
        """Change the name in the header and in the member row."""
        check_name(name)

        async def attempt() -> Playlist:
            playlist = await PlaylistReader(self.access).one(id)
            require_version(playlist, expected_version)
            if playlist.name == name.strip():
                return playlist
            change = PlaylistChange(at=self.access.clock.timestamp(), name=name.strip())
            key = member_key(playlist.owner, id)
            listed = Update(key=key, set={"name": name.strip()}, condition=Exists())
            writes = [Write(listed)]
            return await commit_change(self.access, playlist, change, writes, expected_version)

        return await retry_on_conflict(NOUN, attempt)

    async def set_rule(
        self, id: str, rule: PlaylistRule, expected_version: int | None = None
    ) -> Playlist:
        """Give a smart playlist another rule; raises Invalid for a playlist with own entries."""
        rule.require_valid()

        async def attempt() -> Playlist:
            playlist = await PlaylistReader(self.access).one(id)
            require_version(playlist, expected_version)
            if playlist.rule is None:
                words = "is no smart playlist, which has a rule from the start"
                raise Invalid([FieldProblem(["id"], words)])
            if playlist.rule == rule:
                return playlist
            change = PlaylistChange(at=self.access.clock.timestamp(), rule=rule)
            return await commit_change(self.access, playlist, change, [], expected_version)

        return await retry_on_conflict(NOUN, attempt)

    async def change_rule(self, id: str, change: Callable[[PlaylistRule], PlaylistRule]) -> None:
        """Change the rule of a smart playlist as it is now; one that is gone stays gone.

        The new rule may have more names than a client may give it.
        """

        async def attempt() -> None:
            playlist = await PlaylistReader(self.access).one(id)
            if playlist.rule is None or (rule := change(playlist.rule)) == playlist.rule:
                return
            changed = PlaylistChange(at=self.access.clock.timestamp(), rule=rule)
            try:
                await commit_change(self.access, playlist, changed, [], playlist.version)
            except VersionConflict:
                raise StaleRead from None

        with suppress(NotFound):
            await retry_on_conflict(NOUN, attempt)


async def commit_change(
    access: Access,
    playlist: Playlist,
    change: PlaylistChange,
    writes: Sequence[Write],
    expected: int | None,
) -> Playlist:
    """Commit the writes together with the update of the header; return the new header.

    Without an expected version the header is read again, and includes changes by others.
    """
    await commit(access.table, [change.header_write(playlist, expected), *writes])
    if expected is not None:
        return change.apply_to(playlist)
    return await PlaylistReader(access).one(playlist.id)


def new_playlist(access: Access, name: str) -> Playlist:
    """A new playlist of the caller's, without entries."""
    now = access.clock.timestamp()
    return Playlist(
        id=access.clock.new_id(),
        name=name,
        owner=access.caller.user_id,
        version=1,
        ranked=0,
        entry_count=0,
        duration_ms=0,
        created_at=now,
        updated_at=now,
    )


def check_name(name: str, idempotency_key: str | None = None) -> None:
    """Raise Invalid if the name or the idempotency key breaks its rules."""
    problems = idempotency.key_problems(idempotency_key)
    if message := name_problem(name, MAX_NAME):
        problems.insert(0, FieldProblem(["name"], message))
    if problems:
        raise Invalid(problems)
