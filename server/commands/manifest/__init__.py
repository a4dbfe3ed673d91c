"""`penstock manifest`: shows manifest runs, works on them and releases stuck ones."""

from cyclopts import App

from penstock.server.commands.manifest import admin, folders, import_, read, worker

manifest = App(name="manifest", help="Show manifest runs, work on them and release stuck ones.")

for command, name in (
    (read.list_runs, "list"),
    (read.show, "show"),
    (read.plan_types, "types"),
    (worker.discover, "discover"),
    (worker.claim, "claim"),
    (worker.heartbeat, "heartbeat"),
    (worker.report_processed, "processed"),
    (worker.report_loaded, "loaded"),
    (worker.report_failed, "fail"),
    (admin.set_tags, "tag"),
    (admin.retry, "retry"),
    (admin.set_retries, "retries"),
    (admin.create_consumer, "create-consumer"),
    (admin.remove_consumer, "remove-consumer"),
    (admin.skip, "skip"),
    (admin.unskip, "unskip"),
    (admin.recover, "recover"),
    (admin.reset, "reset"),
    (admin.reload, "reload"),
    (folders.compare_folders, "folders"),
):
    manifest.command(command, name=name)
manifest.command(
    import_.import_runs,
    name="import",
    usage="penstock manifest import --manifest STR [OPTIONS] [FILE]",
)

__all__ = ["manifest"]
