"""`penstock`, also as `python -m penstock`: the command line."""

import signal


def main() -> None:
    """Run the command line, which loads for a while before it can handle Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Python would print a traceback; nothing is open yet.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from penstock.server.command_line import main as run_main  # noqa: PLC0415 - see above

    run_main()


if __name__ == "__main__":
    main()
