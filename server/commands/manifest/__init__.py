"""`penstock manifest`: look at runs, work on them, and get those going that are stuck."""

from cyclopts import App

from penstock.server.commands.manifest import looking, operating, taking_over, working

manifest = App(name="manifest", help="Look at runs, work on them, get stuck ones going.")

for command, name in (
    (looking.list_runs, "list"),
    (looking.show, "show"),
    (working.discover, "discover"),
    (working.claim, "claim"),
    (working.heartbeat, "heartbeat"),
    (working.processed, "processed"),
    (working.loaded, "loaded"),
    (working.fail, "fail"),
    (operating.skip, "skip"),
    (operating.unskip, "unskip"),
    (operating.recover, "recover"),
    (operating.reset, "reset"),
    (operating.reload, "reload"),
    (taking_over.import_runs, "import"),
):
    manifest.command(command, name=name)

__all__ = ["manifest"]
