"""`penstock backup` and `penstock restore`: an embedded store as a folder, and back."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.clock import Clock
from penstock.datastore.moving.backup import (
    Backup,
    DataFolder,
    make_backup,
    restore_backup,
    verify_backup,
)
from penstock.datastore.text import say_count
from penstock.server.auth.dev_tokens import KEY_FILE
from penstock.server.commands.options import setting_option
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.ngsi_sink import SAMPLES
from penstock.server.runtime.stores import FILES
from penstock.server.settings.key_files import PREVIOUS_VAULT_KEY, URL_KEY, VAULT_KEY
from penstock.server.settings.settings import Settings
from penstock.server.settings.store_settings import DATABASE

_TARGET = "Folder of the backup, which is empty or does not exist."
_SOURCE = "Folder that `penstock backup` made."
_DRY_RUN = "Write nothing: read the whole backup and compare it with its digests."


def backup(
    target: Annotated[Path, Parameter(help=_TARGET)],
    /,
    *,
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Copy the embedded store to a folder while its server runs.

    The copy has the databases, the files and the keys, which belong together; only its owner can
    read it. Do not copy the files of a running store by other means: what is still in their logs
    would be lost.
    """
    settings = _settings(data_dir)
    with show_progress("Copying files", None) as progress:
        made = make_backup(data_folder(settings), target, Clock().timestamp(), progress)
    return _output(made, f"are in {target}", target)


def restore(
    source: Annotated[Path, Parameter(help=_SOURCE)],
    /,
    *,
    dry_run: Annotated[bool, Parameter(help=_DRY_RUN)] = False,
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None,
) -> CommandOutput:
    """Write a backup to the data directory, which must have no store; start the server after it.

    The backup is compared with its digests, and one that is damaged makes no store. Until the
    command has ended, no other one takes the folder for a store. Repeat it after an interruption:
    it starts anew.
    """
    settings = _settings(data_dir)
    if dry_run:
        with show_progress("Reading files", None) as progress:
            kept = verify_backup(data_folder(settings).at(source), progress)
        return _output(kept, f"in {source} are as they were stored", source)
    with show_progress("Copying files", None) as progress:
        restored = restore_backup(source, data_folder(settings), progress)
    return _output(restored, f"are in {settings.data_dir}", settings.data_dir)


def _settings(data_dir: Path | None) -> Settings:
    settings = Settings.load(data_dir=data_dir)
    if settings.store != "sqlite":
        words = (
            "Only the embedded store is a folder: DynamoDB has point-in-time recovery, and S3 has "
            "versions of objects."
        )
        raise CommandFailed(words, code=ExitCode.USAGE)
    return settings


def data_folder(settings: Settings) -> DataFolder:
    keys = (URL_KEY, VAULT_KEY, PREVIOUS_VAULT_KEY, KEY_FILE)
    return DataFolder(settings.data_dir, DATABASE, (SAMPLES,), FILES, keys)


def _output(made: Backup, where: str, folder: Path) -> CommandOutput:
    named = ", ".join(sorted(made.sha256))
    text = f"{named} and {say_count(made.files, 'file')} ({say_count(made.bytes, 'byte')}) {where}"
    data = {"folder": str(folder), "createdAt": made.created_at, "files": made.files}
    return CommandOutput(text, {**data, "bytes": made.bytes, "sha256": made.sha256})
