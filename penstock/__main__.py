"""`penstock`, also as `python -m penstock`: the command line."""

import signal


def main() -> None:
    """Run the command line, which loads for a while before it can handle Ctrl-C."""
    # Python would print a traceback, or ignore it in the background; nothing is open yet.
    inherited = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from penstock.server.command_line import main as run_main  # noqa: PLC0415 - see above

    run_main(ignores_interrupts=inherited is signal.SIG_IGN)


if __name__ == "__main__":
    main()
