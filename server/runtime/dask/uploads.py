"""Uploads of a cluster's machines by forms, again a few times where they are interrupted."""

import time
from pathlib import Path

from penstock.datastore.objects.port import UploadForm
from penstock.server.core.http_client import PacedReading, open_blocking_client
from penstock.server.runtime.dask.transport import (
    AROUND,
    ATTEMPTS,
    LEAST_PACE,
    NETWORK_FAILURES,
    PAUSE,
    SPARE_SECONDS,
    TIMEOUT,
    UnwantedStatus,
    is_final,
    part_failure,
)


def send_file(form: UploadForm, path: Path) -> None:
    """Upload a file by a form; raises PartFailed."""
    for failures in range(1, ATTEMPTS + 1):
        try:
            _send_once(form, path)
        except NETWORK_FAILURES as error:
            if failures == ATTEMPTS or is_final(error):
                raise part_failure(form.url, "upload", error) from None
            time.sleep(PAUSE * 2**failures)
        else:
            return


def _send_once(form: UploadForm, path: Path) -> None:
    patience = SPARE_SECONDS + path.stat().st_size / LEAST_PACE
    bounds = PacedReading(AROUND, LEAST_PACE, patience).extensions
    with path.open("rb") as content, open_blocking_client(timeout=TIMEOUT) as client:
        answer = client.request(
            form.method,
            form.url,
            data=dict(form.fields),
            files={"file": (path.name, content)},
            headers=dict(form.headers),
            extensions=bounds,
        )
    if not answer.is_success:
        raise UnwantedStatus(answer.status_code)
