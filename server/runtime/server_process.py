"""One of several processes that serve a port; standard input holds its parameters.

It writes a line on standard output when it serves. The end of standard input stops it, also after
the supervisor was killed.
"""

import asyncio
import os
import sys
import traceback
from functools import partial

from penstock.server.core.command_output import describe_failure, shown_on_terminal
from penstock.server.core.siblings import ServerProcessConfig
from penstock.server.runtime.child_process import open_further_lines, read_first_line
from penstock.server.runtime.listeners import Listeners
from penstock.server.runtime.run_server import serve_port
from penstock.server.runtime.stop_signals import StopSignals, run_until_stopped
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure_logging, log_failure

READY = b"ready\n"


async def _serve(orders: ServerProcessConfig, settings: Settings, stop: StopSignals) -> None:
    def announce() -> None:
        os.write(sys.stdout.fileno(), READY)

    watching = asyncio.create_task(_stop_with_supervisor(stop))
    with Listeners.inherit(orders.listeners) as listeners:
        await serve_port(settings, listeners, announce, stop, orders.siblings)
    watching.cancel()


async def _stop_with_supervisor(stop: StopSignals) -> None:
    await (await open_further_lines()).read()
    stop.stop()


def main() -> None:
    orders = read_first_line(ServerProcessConfig)
    settings = Settings.load(**orders.settings)
    configure_logging(settings.log_format)
    try:
        run_until_stopped(partial(_serve, orders, settings))
    except Exception as error:  # the operator gets one line for any failure
        sys.exit(_report_failure(error, settings))


def _report_failure(error: Exception, settings: Settings) -> int:
    failure = describe_failure(error)
    is_traced = settings.debug and not failure.expected
    if settings.log_format == "json":
        log_failure(" ".join(failure.lines), failure.code, error if is_traced else None)
        return failure.code
    if is_traced:
        traceback.print_exception(error)
    sys.stderr.writelines(f"penstock: {shown_on_terminal(line)}\n" for line in failure.lines)
    return failure.code


if __name__ == "__main__":
    main()
