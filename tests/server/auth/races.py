"""Processes that race for what one of them gets: each calls a function at the same moment."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from penstock.server.auth.dev_sessions import redeem_code
from penstock.server.auth.dev_tokens import dev_key
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.server_process import environment
from tests.support.warm_start import start_program

RACERS: Final = 3


def race(race_name: str, *arguments: str) -> list[str]:
    """Start processes, let them all go on once each is ready, and return what they print."""
    waits, go = os.pipe()
    with TemporaryDirectory() as folder:
        printed = [Path(folder) / str(number) for number in range(RACERS)]
        racers = []
        for path in printed:
            with path.open("wb") as output:
                racers.append(
                    start_program(
                        __name__,
                        *(race_name, *arguments),
                        variables=environment(),
                        output=output,
                        errors=2,
                        given=waits,
                    )
                )
        wait_until(lambda: [path.read_text() for path in printed] == ["ready\n"] * RACERS)
        os.close(waits)
        os.close(go)
        assert [racer.wait(HUNG_SECONDS) for racer in racers] == [0] * RACERS
        return [path.read_text().removeprefix("ready\n") for path in printed]


def main() -> None:
    race_name, folder, *more = sys.argv[1:]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    data_dir = Path(folder)
    if race_name == "code":
        sys.stdout.write(str(redeem_code(data_dir, *more)))
    else:
        sys.stdout.write(str(dev_key(data_dir).as_dict(private=True)["d"]))


if __name__ == "__main__":
    main()
