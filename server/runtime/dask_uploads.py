"""Uploads of a cluster's machines by forms, again a few times where they are interrupted."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from penstock.datastore.objects.port import UploadForm
from penstock.server.core.http_client import PacedReading, open_blocking_client
from penstock.server.runtime.dask_transport import (
    AROUND,
    ATTEMPTS,
    LEAST_PACE,
    PAUSE,
    SPARE_SECONDS,
    TIMEOUT,
    PartFailed,
)


class _RefusedUpload(Exception):
    """The store of files answered with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.is_final = not httpx.codes.is_server_error(status)


def send_file(form: UploadForm, path: Path) -> None:
    """Upload a file by a form; raises PartFailed."""
    for failures in range(1, ATTEMPTS + 1):
        try:
            _send_once(form, path)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, _RefusedUpload) as error:
            if failures == ATTEMPTS or (isinstance(error, _RefusedUpload) and error.is_final):
                raise _failure(form, error) from None
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
        raise _RefusedUpload(answer.status_code)


def _failure(form: UploadForm, error: Exception) -> PartFailed:
    """Tell the log which address was tried; the rest of the URL is a secret."""
    address = urlsplit(form.url)
    place = f"{address.scheme}://{address.netloc}"
    message = "A machine of the cluster cannot upload a file of the execution."
    return PartFailed(message, f"Tried {place}: {type(error).__name__} {error}.")
