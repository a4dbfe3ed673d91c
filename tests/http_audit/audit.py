"""Runs the published GraphQL over HTTP audits against a local server: `make audit`."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.pages.build import find_tools
from tests.support.server_process import running_server

HERE = Path(__file__).parent


def main() -> int:
    """Start a server and print the table of its audits; exit with 1 if a required one fails."""
    tools = find_tools()
    with TemporaryDirectory() as folder, running_server(Path(folder), ["--no-seed"]) as server:
        key = dev_key(server.data_dir)
        token = sign_dev_token(key, "audit", {ROOT: Role.ADMIN}, ROOT, DEV_TOKEN_LIFETIME)
        command = [*tools.node, str(HERE / "run.mjs"), f"{server.url}/graphql"]
        done = subprocess.run([*command, "--header", f"Authorization: Bearer {token}"], check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
